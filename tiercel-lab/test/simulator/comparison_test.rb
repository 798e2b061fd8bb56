# frozen_string_literal: true

require "test_helper"
require "tiercel/lab/simulator"

class SimulatorComparisonTest < Tiercel::TestCase
  Simulator = Tiercel::Lab::Simulator

  def workloads
    [Simulator::Workload.new(name: "plain", keys: 300, requests: 5_000),
     Simulator::Workload.new(name: "ttls", keys: 300, requests: 5_000, ttl: 60.0..600.0)]
  end

  def test_policies_and_urls
    labels = []
    comparison = Simulator::Comparison.new(workloads:, policies: %i[fifo s3_fifo], urls: ["memory:"], seeds: %w[a b])
    found = comparison.run { |label| labels << label }
    assert_equal ["FIFO", "S3-FIFO", "memory:"], found.keys
    assert_includes labels, "S3-FIFO on ttls"
    found.each_value do |figures|
      assert_equal %w[plain ttls], figures.keys
      figures.each_value do |figure|
        assert_includes figure.low..figure.high, figure.estimate
        assert_includes 20.0..95.0, figure.estimate
      end
    end
  end

  def test_the_mean_and_range_are_those_of_the_replays
    plain = workloads.first
    ratios = %w[a b].map do |seed|
      trace = plain.trace(seed)
      policy = Simulator::POLICIES.fetch(:lru).new((trace.footprint_bytes * 0.1).ceil)
      Simulator::Replay.run(trace, policy).hit_ratio * 100
    end
    figure = Simulator::Comparison.new(workloads: [plain], policies: [:lru], seeds: %w[a b]).run.dig("LRU", "plain")
    assert_in_delta ratios.sum / 2, figure.estimate
    assert_equal ratios.minmax, [figure.low, figure.high]
    assert_equal 2, figure.results.size
  end

  def test_a_server_cannot_have_its_clock_moved
    comparison = Simulator::Comparison.new(workloads: workloads.last(1), policies: [],
      urls: ["memcached://127.0.0.1:1"])
    assert_match(/clock/, comparison.run.dig("memcached://127.0.0.1:1", "ttls"))
  end

  # A backend with data of another user.
  class InUse < Tiercel::Backend
    class << self
      attr_accessor :sizes, :cleared

      def option_names = %i[size]

      def build(_url, options)
        sizes << options[:size]
        new
      end
    end

    def stats = { entries: 3 }
    def clear_all = self.class.cleared = true
  end

  def in_use
    InUse.sizes = []
    InUse.cleared = nil
    Tiercel::Backends::REGISTRY.register(:"in-use") { InUse }
  end

  def test_a_place_that_holds_something_is_refused_and_not_cleared
    in_use
    comparison = Simulator::Comparison.new(workloads: workloads.first(1), policies: [], urls: ["in-use:"])
    assert_match(/in-use: holds 3 entries/, comparison.run.dig("in-use:", "plain"))
    refute InUse.cleared
  end

  def test_the_capacity_is_given_as_size_unless_the_url_says_one
    in_use
    ["in-use:", "in-use:?size=5MB"].each do |url|
      Simulator::Comparison.new(workloads: workloads.first(1), policies: [], urls: [url], share: 0.5, seeds: ["a"]).run
    end
    assert_equal "5MB", InUse.sizes.last
    assert_in_delta 150_000, InUse.sizes.first, 5_000
  end

  def test_an_unknown_policy
    error = assert_raises(Tiercel::ConfigurationError) { Simulator::Comparison.new(policies: [:arc]) }
    assert_match(/policy :arc/, error.message)
  end
end
