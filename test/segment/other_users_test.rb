# frozen_string_literal: true
# suites: kernel
# quick

require "test_helper"
require "tiercel/segment"
require_relative "../support/rails_stub"

# Segments of the same name that belong to other users, such as a site's user and root with a console.
class SegmentOtherUsersTest < Tiercel::TestCase
  include RailsStub

  SITE = 12_345

  def setup
    skip "[environment] giving files away needs root" unless Process.uid.zero?
    Tiercel::Segment::OtherUsers.warned.clear
  end

  def place(text, **) = Tiercel::Segment::Place.new(text, shared_memory: dir, temporary: nil, **)

  # @return [String] path of the same segment, created by the site's user
  def made_by_the_site(path)
    other = path.sub(/-#{Process.euid}(?=(-\h{8})?\.v\d+\z)/, "-#{SITE}")
    Tiercel::Segment.open(other, bytes: 1 << 20).close
    File.chown(SITE, SITE, other)
    other
  end

  def warnings(place) = capture_io { 2.times { Tiercel::Segment::OtherUsers.new(place).warn } }.last

  def test_a_console_of_root_hears_once_that_its_cache_is_another_one
    in_rails("secret") do
      mine = place("")
      other = made_by_the_site(mine.paths.first)
      said = warnings(mine)
      assert_equal 1, said.lines.size
      assert_match(/#{other} is a segment of the same name that belongs to user #{SITE}\. .*root \(user 0\).*clear/,
                   said)
    end
  end

  def test_other_applications_and_files_that_are_not_theirs_are_passed_over
    Tiercel::Segment.open(place("app").paths.first, bytes: 1 << 20).close
    made_by_the_site(place("app-two").paths.first)
    File.write(File.join(dir, "tiercel-app-777.v3"), "")
    assert_empty warnings(place("app"))
    assert_empty Tiercel::Segment::OtherUsers.new(Tiercel::Segment::Place.new("#{dir}/x")).segments
  end

  def test_a_store_says_it_when_it_is_built
    memory = Tiercel::Segment::Place::SHARED_MEMORY
    name = "other_users_#{Process.pid}"
    other = made_by_the_site(File.join(memory, "tiercel-#{name}-#{Process.euid}.v3"))
    backend = nil
    _, said = capture_io do
      backend = Tiercel::Backends::Shared.build(Tiercel::BackendURL.parse("shared:#{name}"), { size: "1MB" })
    end
    assert_includes said, other
  ensure
    backend&.close
    FileUtils.rm_f(Dir["#{memory}/tiercel-#{name}-*"])
  end
end
