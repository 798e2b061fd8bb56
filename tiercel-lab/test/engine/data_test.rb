# frozen_string_literal: true

require_relative "../support/lab_case"
require_relative "../support/canned"

# A folder of the user's with four files, one of them far larger than the others. Its median size once counted as the
# mean and as the largest, so 39 times too many pages seemed to fit into the memory.
class DataTest < LabCase
  SMALL, LARGE = 2_000, 3_000_000

  def with_data
    Dir.mktmpdir do |folder|
      [SMALL, SMALL, SMALL, LARGE].each_with_index do |size, index|
        File.binwrite(File.join(folder, "#{index}.bin"), Random.new(index).bytes(size)) # not compressible
      end
      yield Lab::Values::Files.new(directory: folder), folder
    end
  end

  def stored(value, folder)
    arm, = Lab::Engine::SingleArm.build(text: "file_store:#{folder}/cache", operation: "read", value: value.to_spec,
                                        seed: 1, prefix: "d", slice_ns: 1_000,
                                        context: { servers: {}, folders: { "disk" => folder }, label: "data" })
    arm.stored_bytes.tap { arm.tear_down }
  end

  def test_one_large_file_counts_in_the_mean_and_as_the_largest
    with_data do |value, folder|
      Dir.mkdir(File.join(folder, "cache"))
      found = stored(value, folder)
      assert_in_delta SMALL, found["stored_bytes"], 300
      assert_in_delta((LARGE + (3 * SMALL)) / 4, found["mean_bytes"], 1_000)
      assert_in_delta LARGE, found["largest_bytes"], 1_000
      cells = Canned.cells(compare("memory_store", "tiercel:memory:", value: "html-2kb"),
                           { "memory_store" => 1_000, "tiercel:memory:" => 900 })
      results = Canned.results(command: "compare", cells:)
      results["cells"].each { |cell| cell.merge!("value" => "data", "exact" => found) }
      page = Lab::Answer::Figures.new(results).candidates.first
      assert_equal found["mean_bytes"], page.page_bytes
      assert_equal found["largest_bytes"], page.entry_bytes
      assert_equal 268_435_456 / found["mean_bytes"], page.pages(Lab::Answer::Constraints.new)
    end
  end
end
