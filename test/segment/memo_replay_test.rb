# frozen_string_literal: true
# suites: kernel
# quick

require "test_helper"
require_relative "memo_segment"
require_relative "../support/memo_replay"

# The replay of recorded reads, by which adr/020 chose the memo's rule.
class SegmentMemoReplayTest < Tiercel::TestCase
  include MemoSegment

  LIMIT = 2 << 20

  # Popular entries of 24 KB, four times as many as the memo can hold, with one write in fifty calls.
  def reads
    random = Random.new(7)
    Array.new(6_000) { [(350 * (random.rand**3)).to_i, random.rand < 0.02 ? nil : 24 * 1024] }
  end

  def test_the_memo_has_the_hits_of_its_rule
    all = reads
    by_rule = MemoReplay.replayed(MemoReplay::Weighed, LIMIT, all).hits
    by_memo = MemoReplay::Itself.new(LIMIT, all).hits
    assert_operator by_rule, :>, all.size / 4
    assert_in_delta by_rule, by_memo, all.size * 0.05
  end

  def test_a_recording_is_read_from_its_file
    path = "#{@path}-recording"
    File.write(path, "a 9000\nb 10000\na 0\na 9000\n")
    recorded = MemoReplay.recorded(path)
    assert_equal [[[0, 9_000], [1, 10_000], [0, nil], [0, 9_000]]], recorded.values
    out, = capture_io { MemoReplay.run(path) }
    assert_equal 2, out.scan(/^Hits: 0\.0 % of the reads by the memo itself, 0\.0 % by its rule/).size
  end
end
