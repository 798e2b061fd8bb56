# frozen_string_literal: true

# suites: store

require "test_helper"
require "active_support/cache/tiercel_store"
require "zlib"

# Four processes overwrite, delete and read the same hundred large keys, plain and compressed, with a memo that holds
# less than all of them: no value is torn, none is older than what was there before the read began, and what is kept
# stays within its bound. 10 million reads in the long form.
class SegmentMemoProcessesTest < Tiercel::TestCase
  PROCESSES = 4
  KEYS = Array.new(100) { |i| "views/page/#{i}" }.freeze
  BOUND = 2 << 20
  READS = Integer(ENV.fetch("TIERCEL_MEMO_READS", "10_000_000"))

  # One of the processes. Each key has one writer, who counts: what was overwritten or deleted is not seen again.
  class Peer
    def initialize(directory, index)
      @store = Tiercel.new("shared:#{directory}/values?size=16MB", memo: BOUND)
      @floors = Tiercel::Segment.open("#{directory}/floors", bytes: 1 << 20)
      @index = index
      @random = Random.new(Minitest.seed + index)
      @counts = Hash.new(0)
    end

    def run(reads, every: 50)
      reads.times do |read|
        change(KEYS[(@random.rand(KEYS.size / PROCESSES) * PROCESSES) + @index]) if (read % every).zero?
        check(KEYS[@random.rand(KEYS.size)])
        within_bound if (read % 1_000).zero?
      end
      within_bound
      @store.stats[:memo_hits]
    end

    private

    # A write that another process kept waiting in vain stores nothing: what was there stays.
    def change(key)
      count = @counts[key] += 1
      if @random.rand < 0.2
        @store.delete(key)
        count = @counts[key] += 1
      else
        @store.write(key, text(key, count), **options(key)) or return
      end
      @floors.set(key, count.to_s)
    end

    def options(key)
      [{ compress: false }, { compress: true, compress_threshold: 1 }, { version: "v" }][key.hash % 3]
    end

    # Mostly a little shorter than the last one, so that it is written in its place.
    def text(key, count)
      body = "#{key}:#{count};é" * (1_100 - (count % 12 * 70))
      "#{key}:#{count}:#{Zlib.crc32(body)}:#{body}"
    end

    def check(key)
      floor = @floors.get(key).to_i
      value = @store.read(key) or return
      name, count, sum, body = value.split(":", 4)
      raise "torn: #{value[0, 80]}" unless name == key && Zlib.crc32(body) == sum.to_i && value.valid_encoding?
      raise "stale: #{count} of #{key}, #{floor} was there" if count.to_i < floor
      value << "mine"
    end

    def within_bound
      bytes = @store.stats[:memo_bytes]
      raise "#{bytes} bytes are kept" if bytes > BOUND
    end
  end

  def test_processes_at_once
    grown = processes(long? ? READS / PROCESSES : 4_000, within: long? ? 3_600 : 120)
    assert_operator grown.max, :<, BOUND + (192 << 20) # Ruby lets garbage of 128 MB wait; what leaks is gigabytes
  end

  def test_under_a_collector_that_compacts
    processes(600, hits: 1, every: 20) do
      GC.auto_compact = true if GC.respond_to?(:auto_compact=)
      Thread.new { loop { GC.start(full_mark: true) && sleep(0.01) } }
    end
  end

  private

  # @return [Array<Integer>] by how many bytes each has grown, beside the segment
  def processes(reads, within: 120, hits: reads / 100, every: 50)
    with_tmpdir do |directory|
      fork_and_wait(PROCESSES, within: within) do |index|
        peer = Peer.new(directory, index)
        before = own_bytes
        yield if block_given?
        found = peer.run(reads, every: every)
        raise "only #{found} hits" if found < hits
        GC.start
        own_bytes - before
      end
    end
  end

  def own_bytes = File.read("/proc/self/status")[/^RssAnon:\s+(\d+)/, 1].to_i * 1024
end
