# frozen_string_literal: true

require "active_support/cache/tiercel_store"
require "tiercel/segment"
require_relative "segment_files"

# A segment with a memo of 4 MB, for tests of the memo. Its hash key is fixed, because admission depends on hashes.
module MemoSegment
  include SegmentFiles

  # A String of this size enters on its second read.
  LONG = 37_000

  def setup
    super
    @segment = open_segment(memo: 4 << 20)
  end

  def teardown
    @segment.close
    super
  end

  private

  def open_segment(memo: 0)
    Tiercel::Segment.open(@path, bytes: 16 << 20, shards: 1, hash_key: "a memo for tests")
                    .tap { |segment| segment.memo_bytes = memo }
  end

  def write(key, value) = assert_equal(true, @segment.write_string(key, value, nil, nil))
  def stats(name) = @segment.stats.fetch(name)

  def kept_and_hits
    yield
    [stats(:memo_entries), stats(:memo_hits)]
  end
end
