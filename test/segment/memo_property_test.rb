# frozen_string_literal: true
# suites: kernel

require "test_helper"
require "socket"
require "tiercel/segment"
require_relative "segment_files"

# Random calls of several processes, threads and collections on one segment: compares a handle with a memo and one
# without.
class SegmentMemoPropertyTest < Tiercel::TestCase
  include SegmentFiles

  KEYS = Array.new(24) { |i| "key#{i}" }.freeze
  PROCESSES = 4

  # One of the processes; it makes one call at a time on request.
  class Peer
    def initialize(path)
      @memo = Tiercel::Segment.open(path, bytes: 8 << 20).tap { |segment| segment.memo_bytes = 1 << 20 }
      @plain = Tiercel::Segment.open(path, bytes: 8 << 20)
      @kept = []
    end

    # @return [String, nil] a description of the difference
    def call(random)
      change(random) if random.rand < 0.2
      Array.new(6) { KEYS.sample(random: random) }.each do |key|
        reads = [@plain.read(key), *Array.new(3) { @memo.read(key) }, @memo.read_multi([key])[key]]
        alike = reads.uniq { |read| [read, read.frozen?] }.size == 1
        return "#{key}: #{reads.map { |read| read && read[0, 40] }}" unless alike
        alter(reads[2], random) if reads[2]
      end
      wrong = @kept.find { |text, copy| text != copy }
      "a String of a caller's changed: #{wrong.map { |text| text[0, 40] }}" if wrong
    end

    def hits = @memo.stats[:memo_hits]

    private

    def change(random)
      key = KEYS.sample(random: random)
      case random.rand(20)
      when 0..9 then @memo.write_string(key, text(random), nil, nil)
      when 10..12 then @plain.write_string(key, text(random), nil, [nil, 1_000].sample(random: random))
      when 13, 14 then [@memo, @plain].sample(random: random).delete(key)
      when 15 then @memo.clear_prefix("key#{random.rand(3)}")
      when 16 then @memo.touch(key, 0.000_001)
      when 17 then @memo.set(key, text(random))
      when 18 then @memo.clear
      else collect(random)
      end
    end

    def text(random) = "#{Process.pid}/#{random.rand(1 << 60)}".*(random.rand(5..3_000)).freeze

    # Keeps some Strings with a copy of their bytes, and changes others.
    def alter(value, random)
      if random.rand < 0.2
        @kept.shift if @kept.size > 50
        @kept << [value[0, value.bytesize - 1], value.each_char.to_a[0..-2].join]
      elsif !value.frozen?
        value << "changed"
        value.setbyte(0, 0)
      end
    end

    def collect(random)
      random.rand < 0.3 && GC.respond_to?(:compact) ? GC.compact : GC.start(full_mark: random.rand < 0.5)
    end
  end

  def setup
    super
    Tiercel::Segment.open(@path, bytes: 8 << 20)
  end

  # The processes take turns, so that both handles of a process read the same.
  def test_calls_in_turns
    random = Random.new(Minitest.seed)
    peers = Array.new(PROCESSES) { start_peer }
    (long? ? 40_000 : 1_500).times do |round|
      difference = ask(peers.sample(random: random), random.rand(1 << 30))
      assert_nil difference, "round #{round}, seed #{Minitest.seed}"
    end
    assert_operator peers.sum { |peer| ask(peer, nil) }, :>, 1_000
  ensure
    peers&.each { |peer| peer.each_value { |end_of_pipe| end_of_pipe.close if end_of_pipe.is_a?(IO) } }
    peers&.each { |peer| Process.wait(peer[:pid]) }
  end

  # Private memory: after a fork, parent and child use the same names for different entries.
  def test_a_fork_of_private_memory
    segment = Tiercel::Segment.open(bytes: 4 << 20).tap { |opened| opened.memo_bytes = 1 << 20 }
    segment.write_string("key", "a" * 40_000, nil, nil)
    3.times { segment.read("key") }
    child = fork_and_wait(1) do
      segment.write_string("key", "c" * 40_000, nil, nil)
      Array.new(4) { segment.read("key")[0] }
    end
    segment.write_string("key", "p" * 40_000, nil, nil)
    assert_equal [%w[c c c c], %w[p p p p]], [child.first, Array.new(4) { segment.read("key")[0] }]
  end

  def test_threads
    segment = Tiercel::Segment.open(@path, bytes: 8 << 20).tap { |opened| opened.memo_bytes = 1 << 20 }
    threads = Array.new(6) { |index| Thread.new { work(segment, index) } }
    assert_equal [nil] * 6, threads.map(&:value)
  end

  private

  def work(segment, index)
    random = Random.new(index)
    2_000.times do
      key = KEYS.sample(random: random)
      segment.write_string(key, "#{key}:" * random.rand(2_000..9_000), nil, nil) if random.rand < 0.1
      value = segment.read(key) or next
      whole = value.delete_prefix("#{key}:") == value[0, value.bytesize - key.bytesize - 1]
      return "#{key}: #{value[0, 40]}" unless whole
      value.clear
    end
    nil
  end

  def start_peer
    mine, theirs = UNIXSocket.pair
    pid = fork do
      mine.close
      peer = Peer.new(@path)
      while (seed = theirs.gets)
        answer = seed == "\n" ? peer.hits : peer.call(Random.new(Integer(seed)))
        theirs.puts(answer.inspect)
      end
    ensure
      exit!(0)
    end
    theirs.close
    { pid: pid, socket: mine }
  end

  def ask(peer, seed)
    peer[:socket].puts(seed.to_s)
    answer = peer[:socket].gets or raise "a process ended"
    answer == "nil\n" ? nil : Integer(answer, exception: false) || answer
  end
end
