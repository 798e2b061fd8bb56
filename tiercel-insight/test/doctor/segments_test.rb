# frozen_string_literal: true
# suites: insight

require_relative "doctor_case"

# Segments with the same name that belong to other users.
class DoctorSegmentsTest < DoctorCase
  OTHER = 12_345

  def test_segments_of_other_users
    skip "[environment] giving files away needs root" unless Process.uid.zero?
    with_tmpdir do |folder|
      store = Tiercel.new("shared:#{folder}/tiercel-shop-production-#{Process.euid}-00000000.v3", size: "4MB")
      assert_nothing_found examine(store, deployment: here(shared_memory: folder))
      other = "#{folder}/tiercel-shop-production-#{OTHER}-00000000.v3"
      Tiercel::Segment.open(other, bytes: 1 << 20).close
      File.chown(OTHER, OTHER, other)
      assert_found(/#{other} is a segment of the same name that belongs to user #{OTHER}/,
                   examine(store, deployment: here(shared_memory: folder)))
    ensure
      store&.close
    end
  end
end
