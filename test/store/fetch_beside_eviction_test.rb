# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache/tiercel_store"

# Blocks of `fetch` in a segment that other callers fill concurrently.
class FetchBesideEvictionTest < Tiercel::TestCase
  ROUNDS = 20
  STORED = 19
  SEGMENT_BYTES = 4 << 20
  VALUE = ("x" * 2_000).freeze
  # Half of the segment.
  WRITES = SEGMENT_BYTES / 2 / VALUE.bytesize

  def setup
    super
    @dir = Dir.mktmpdir("tiercel-eviction-")
    @store = Tiercel.new("shared:#{@dir}/segment", size: SEGMENT_BYTES, compress: false, lease: true)
    # A full segment, as caches usually are.
    3_000.times { |index| @store.write("before/#{index}", VALUE) }
  end

  def teardown
    @store.close
    FileUtils.rm_rf(@dir)
    super
  end

  def test_what_is_computed_while_half_of_the_segment_is_written_is_stored
    stored = (1..ROUNDS).count do |round|
      assert_equal("made", @store.fetch("cold/#{round}") { fill(round) && "made" })
      @store.read("cold/#{round}") == "made"
    end
    assert_operator stored, :>=, STORED
  end

  def test_the_same_of_several
    stored = (1..ROUNDS).count do |round|
      names = Array.new(3) { |index| "cold/#{round}/#{index}" }
      @store.fetch_multi(*names) { |name| name == names.first ? fill(round) && name : name }
      @store.read_multi(*names).keys == names
    end
    assert_operator stored, :>=, STORED
  end

  def test_the_same_by_other_processes
    stored = (1..3).count do |round|
      @store.fetch("cold/#{round}") { fork_and_wait(2) { |index| fill("#{round}/#{index}") } && "made" }
      @store.read("cold/#{round}") == "made"
    end
    assert_equal 3, stored
  end

  private

  def fill(round) = WRITES.times { |index| @store.write("other/#{round}/#{index}", VALUE) }
end
