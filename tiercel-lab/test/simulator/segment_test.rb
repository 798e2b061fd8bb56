# frozen_string_literal: true

require "test_helper"
require "tiercel/lab/simulator"

# Compares the segment's eviction with the simulator's, on named workloads and seeds.
# bin/lab hit-ratio shared: does the same at full length.
class SimulatorSegmentTest < Tiercel::TestCase
  Simulator = Tiercel::Lab::Simulator
  # The size of a record's header in the segment's logs, and the multiple to which lengths are rounded.
  WEIGHER = Simulator::Weigher.record(header_bytes: 40, multiple: 16)
  REQUESTS = 200_000

  # @return [Array<Float>] hit ratios in percent: the segment's, then those of policies with the size of its logs
  def ratios(name, seed, *policies, average_entry_bytes:)
    trace = Simulator::Workloads.fetch(name).with(requests: REQUESTS).trace(seed)
    size = (trace.footprint_bytes(weigher: WEIGHER) * 0.103).ceil
    with_segment(size, average_entry_bytes) do |segment|
      capacity = segment.stats.fetch(:log_bytes)
      result = Simulator::Replay.run(trace, segment)
      assert_equal 0, result.wrong, "#{name} #{seed}: reads that gave other bytes than the last write"
      others = policies.map { |policy| Simulator::POLICIES.fetch(policy).new(capacity, weigher: WEIGHER) }
      [result, *others.map { |policy| Simulator::Replay.run(trace, policy) }].map { |run| run.hit_ratio * 100 }
    end
  end

  def with_segment(size, average_entry_bytes)
    with_tmpdir do |directory|
      url = Tiercel::BackendURL.parse("shared:#{directory}/segment")
      segment = Tiercel::Backends::REGISTRY.fetch(:shared).build(url, { size:, average_entry_bytes: })
      yield segment
    ensure
      segment&.close
    end
  end

  def seeds = long? ? %w[1 2 3] : %w[1]

  def test_equal_sizes_within_half_a_point_of_textbook_s3_fifo
    %w[zipf-0.8 zipf-1.0 zipf-1.2 scans].product(seeds).each do |name, seed|
      segment, textbook = ratios(name, seed, :s3_fifo, average_entry_bytes: 1_000)
      assert_in_delta textbook, segment, 0.5, "#{name} seed #{seed}"
    end
  end

  def test_overwrites_sizes_and_ttls_not_below_lru
    %w[overwrites-10 overwrites-30].product(seeds).each do |name, seed|
      segment, lru = ratios(name, seed, :lru, average_entry_bytes: 10_000)
      assert_operator segment, :>=, lru - 0.3, "#{name} seed #{seed}"
    end
  end
end
