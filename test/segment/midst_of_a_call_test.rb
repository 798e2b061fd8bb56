# frozen_string_literal: true

# suites: kernel

require "test_helper"
require "minitest/mock"
require "tiercel/segment"
require_relative "segment_files"

# Other threads, and an application's stubbed clock, use a segment in the middle of a call.
class SegmentMidstOfACallTest < Tiercel::TestCase
  include SegmentFiles

  VALUE = "v" * 20_000
  BARE = Tiercel::Frame.build(Tiercel::Frame::Layout::TYPE_STRING_UTF_8, VALUE)
  # Each call meets an entry with an expiry, so it calls Time.now; `token` belongs to that entry.
  CALLS = {
    get: [->(segment, _) { segment.get("key") }, VALUE],
    read: [->(segment, _) { segment.read("string") }, VALUE],
    get_multi: [->(segment, _) { segment.get_multi(%w[key absent key]) }, { "key" => VALUE }],
    read_multi: [->(segment, _) { segment.read_multi(%w[string key]) }, { "string" => VALUE, "key" => VALUE }],
    get_with_token: [->(segment, _) { segment.get_with_token("key")&.first }, VALUE],
    add: [->(segment, _) { segment.add("key", "other", 10) }, false],
    set: [->(segment, _) { segment.set("key", VALUE, 10) }, true],
    set_multi: [->(segment, _) { segment.set_multi({ "key" => VALUE, "other" => VALUE }, 10) }, true],
    compare_and_set: [->(segment, token) { segment.compare_and_set("key", VALUE, token, 10) }, true],
    touch: [->(segment, _) { segment.touch("key", 100) }, true],
    increment: [->(segment, _) { segment.increment("counter", 2, 10) }, 3],
    near_fill: [->(segment, _) { segment.near_fill("key", VALUE, 10, segment.near_epoch("key")) }, false],
    near_fill_frame: [
      ->(segment, _) { segment.near_fill_frame("key", BARE, 10, segment.near_epoch("key")) }, false
    ],
    scan: [->(segment, _) { segment.scan.sort }, %w[counter key string]],
    stats: [->(segment, _) { segment.stats[:entries] }, 3],
    delete: [->(segment, _) { segment.delete("key") }, true],
    delete_multi: [->(segment, _) { segment.delete_multi(%w[key string absent]) }, 2]
  }.freeze

  CALLS.each do |name, (call, expected)|
    define_method(:"test_#{name}_whose_clock_closes_the_segment") do
      assert_equal [expected], fork_and_wait(1) { closed_in_the_clock(@path, &call) }
      fork_and_wait(1) { closed_in_the_clock(nil, &call) } # private memory no longer exists: any result is allowed
    end
  end

  def test_a_clock_that_forks
    segment = prepared(@path)
    reader, writer = IO.pipe
    child = nil
    value = Time.stub(:now, -> { (child ||= fork || :here) && now }) { segment.get("key") }
    if child == :here
      writer.write([value == VALUE, segment.set("child", "x"), segment.pids.include?(Process.pid)].inspect)
      exit!(0)
    end
    writer.close
    Process.wait(child)
    assert_equal "[true, true, true]", reader.read
    assert_equal VALUE, value
    assert_equal "x", segment.get("child")
  ensure
    exit!(1) if child == :here
    segment.close
  end

  # Cursors of a large index pointed into the logs of the smaller segment, which were then misread as slots and
  # emptied.
  def test_a_scan_goes_on_in_the_segment_that_replaced_its_own
    (1..7).each do |batches|
      Tiercel::Segment.replace(@path, bytes: 8 << 20)
      segment = Tiercel::Segment.open(@path, bytes: 1 << 20)
      3_000.times { |index| segment.set("old#{index}", "x") }
      seen = []
      segment.scan do |key|
        shrink(segment) if seen.size == batches * 256
        seen << key
      end
      800.times { |index| assert_includes [nil, "\xFF".b * 1_000], segment.get("new#{index}") }
      assert_equal segment.scan.sort, seen.grep(/new/).sort
      segment.close
    end
  end

  private

  def now = Time.at(Process.clock_gettime(Process::CLOCK_REALTIME))

  def prepared(path)
    segment = Tiercel::Segment.open(path, bytes: 2 << 20)
    segment.set("key", VALUE, 1_000)
    segment.write_string("string", VALUE, Time.now.to_f + 1_000, 1_000)
    segment.increment("counter", 1, 1_000)
    segment
  end

  # The stubbed clock closes the segment of the call and returns handles, which a collection later in the call frees.
  def closed_in_the_clock(path)
    segment = prepared(path)
    token = segment.get_with_token("key").last
    other = File.join(dir, "other")
    closing = lambda do
      segment.close
      handles = Array.new(5) { Tiercel::Segment.open(other, bytes: 1 << 20) }
      time = now.tap { |answer| answer.instance_variable_set(:@handles, handles) }
      GC.stress = 1 # minor collections: the handles are young, and major ones would take seconds per call
      time
    end
    Time.stub(:now, closing) { yield(segment, token) }
  ensure
    GC.stress = false
  end

  def shrink(segment)
    Tiercel::Segment.replace(@path, bytes: 1 << 20)
    800.times { |index| segment.set("new#{index}", "\xFF".b * 1_000) }
  end
end
