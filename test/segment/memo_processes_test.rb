# frozen_string_literal: true

# suites: store

require "test_helper"
require_relative "memo_peer"

# Four processes overwrite, delete and read the same hundred large keys, with a memo smaller than all of them
# together. No value is torn, none is older than the state before the read began, and the memo stays within its limit.
# The long tier makes 10 million reads; TIERCEL_MEMO_READS sets another number.
class SegmentMemoProcessesTest < Tiercel::TestCase
  PROCESSES = 4
  READS = Integer(ENV.fetch("TIERCEL_MEMO_READS", "10_000_000"))

  def test_processes_at_once
    grown = processes(long? ? READS / PROCESSES : 4_000, within: long? ? 7_200 : 120)
    # Ruby may accumulate 128 MB of garbage; a leak would be gigabytes.
    assert_operator grown.max, :<, MemoPeer::BOUND + (192 << 20)
  end

  # A process is stopped while it holds a shard's lock, for longer than others wait: their writes are refused, and
  # existing values are still read.
  def test_processes_beside_one_that_stops_with_the_lock
    processes(long? ? 100_000 : 1_500, within: long? ? 1_200 : 120, hits: 1, every: 10, until_refused: 2_000,
              beside: StoppedHolder.method(:new))
    assert_operator @results.sum { |result| result.refused.values.sum }, :>, 0, "no stop was within the lock"
  end

  def test_under_a_collector_that_compacts
    processes(600, hits: 1, every: 20) do
      GC.auto_compact = true if GC.respond_to?(:auto_compact=)
      method(:collecting)
    end
  end

  # Four keys, so that a few reads suffice for hits. Each allocation runs a garbage collection; some collections move
  # objects.
  def test_under_a_collector_that_runs_all_the_time
    processes(long? ? 2_000 : 160, hits: 1, every: 20, keys: 4) { method(:under_stress) }
  end

  private

  def collecting
    @calls = (@calls || 0) + 1
    GC.start if @calls % 30 == 0
    yield
  end

  # Minor collections only: major ones at each allocation would take minutes.
  def under_stress
    @calls = (@calls || 0) + 1
    GC.compact if @calls % 20 == 0 && GC.respond_to?(:compact)
    GC.stress = 1
    yield
  ensure
    GC.stress = false
  end

  # @return [Array<Integer>] growth of each process in bytes, without the segment
  # @yieldreturn [Proc, nil] a wrapper for each call
  def processes(reads, within: 120, hits: reads / 100, every: 50, keys: 100, beside: nil,
                until_refused: 1)
    with_tmpdir do |directory|
      beside = beside&.call(directory)
      outcomes = fork_and_wait(PROCESSES, within: within) do |index|
        peer = MemoPeer.new(directory, index, of: PROCESSES, keys: keys)
        before = own_bytes
        around = yield if block_given?
        result = (1..until_refused).lazy.map { peer.run(reads, every: every, &around) }.find { |r| r.refused.any? } ||
                 peer.result
        GC.start
        [result, own_bytes - before]
      end
      @results = outcomes.map(&:first)
      assert_operator @results.map(&:hits).min, :>=, hits, summary
      puts summary if long?
      outcomes.map(&:last)
    ensure
      beside&.stop
    end
  end

  def summary
    refused = @results.map(&:refused).inject { |all, some| all.merge(some) { |_, one, other| one + other } }
    "memo, seed #{Minitest.seed}: #{%i[reads found hits writes deletes].map { |name| "#{@results.sum(&name)} #{name}" }
      .join(", ")}; refused: #{refused}"
  end

  # A process that holds the lock of a shard most of the time, and that is repeatedly stopped and continued.
  class StoppedHolder
    # Longer than the maximum wait of a write.
    STOPPED = 0.35

    def initialize(directory)
      @pid = fork { hold(directory) }
      @thread = Thread.new { stop_again_and_again }
    end

    def stop
      @thread.kill.join
      Process.kill(:KILL, @pid)
      Process.wait(@pid)
    end

    private

    def hold(directory)
      store = Tiercel.new("shared:#{directory}/values?size=16MB", compress: false)
      value = "x" * 800_000
      loop { store.write("held#{rand(8)}", value) }
    ensure
      exit!(0)
    end

    def stop_again_and_again
      loop do
        sleep rand * 0.05
        Process.kill(:STOP, @pid)
        sleep STOPPED
        Process.kill(:CONT, @pid)
      end
    end
  end
  private_constant :StoppedHolder

  def own_bytes = File.read("/proc/self/status")[/^RssAnon:\s+(\d+)/, 1].to_i * 1024
end
