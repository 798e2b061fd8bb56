# frozen_string_literal: true

# suites: insight

require "test_helper"
require "active_support/cache/tiercel_store"
require "tiercel/insight"

# What other sizes would change: predictions, compared with stores that really have these sizes.
class WorthTest < Tiercel::TestCase
  REQUESTS = 30_000

  def teardown = Tiercel::Insight.stop

  # Keys by a Zipf law; with a scan; with a popularity that shifts.
  def traces
    random = Random.new(1)
    zipf = zipf(4_000, 0.8)
    { "zipf" => Array.new(REQUESTS) { zipf.call(random) },
      "scans" => Array.new(REQUESTS) { |at| at % 4 == 3 ? 100_000 + (at % 9_000) : zipf.call(random) },
      "shifting" => Array.new(REQUESTS) { |at| zipf.call(random) + (at / 10_000 * 300) } }
  end

  def zipf(count, exponent)
    total = 0.0
    sums = (1..count).map { |rank| total += rank**-exponent }
    ->(random) { sums.bsearch_index { |sum| sum >= random.rand * sums.last } }
  end

  # The miss ratio after the first third.
  def run_trace(store, trace, warm = trace.size / 3)
    misses = 0
    trace.each_with_index do |number, at|
      store.fetch("item/#{number}") do
        misses += 1 if at >= warm
        "v" * (500 + (number * 37 % 1_000))
      end
    end
    misses.fdiv(trace.size - warm)
  end

  def store(size) = ActiveSupport::Cache::MemoryStore.new(size: size, compress: false)

  def test_predictions_for_a_memory_store
    size = 1 << 20
    wrong = []
    traces.each do |name, trace|
      with_tmpdir do |folder|
        cache = store(size)
        Tiercel::Insight.start(cache, folder:, share: 0.5)
        trace.each_slice(1_000) do |part|
          run_trace(cache, part)
          Tiercel::Insight.collector.flush
        end
        worth = Tiercel::Insight.worth(cache)
        assert_nil worth.unknown
        really = { 0.5 => run_trace(store(size / 2), trace), 2.0 => run_trace(store(size * 2), trace) }
        really.each do |factor, ratio|
          predicted = worth.sizes.find { |one| one.factor == factor }.miss_ratio
          puts format("%s x%.1f: predicted %.3f, really %.3f", name, factor, predicted, ratio) if ENV["SHOW"]
          next if (ratio - predicted).abs <= 0.02
          wrong << "#{name} x#{factor}: predicted #{predicted.round(3)}, really #{ratio.round(3)}"
        end
      end
    end
    assert_empty wrong
  end

  def test_predictions_for_a_segment
    wrong = []
    traces.first(2).each do |name, trace|
      with_tmpdir do |folder|
        caches = { 1.0 => "4MB", 0.5 => "2MB", 2.0 => "8MB" }.transform_values { |size| Tiercel.new("memory:", size:) }
        Tiercel::Insight.start(caches[1.0], folder:, share: 0.5)
        trace = trace.map { |number| number * 7 % 20_011 }
        trace.each_slice(1_000) do |part|
          run_trace(caches[1.0], part)
          Tiercel::Insight.collector.flush
        end
        worth = Tiercel::Insight.worth(caches[1.0])
        assert_nil worth.unknown
        [0.5, 2.0].each do |factor|
          ratio = run_trace(caches[factor], trace)
          predicted = worth.sizes.find { |one| one.factor == factor }.miss_ratio
          puts format("%s memory: x%.1f: predicted %.3f, really %.3f", name, factor, predicted, ratio) if ENV["SHOW"]
          next if (ratio - predicted).abs <= 0.04
          wrong << "#{name} x#{factor}: predicted #{predicted.round(3)}, really #{ratio.round(3)}"
        end
      end
    end
    assert_empty wrong
  end

  def test_it_cannot_tell_from_a_small_sample_or_without_a_size
    with_tmpdir do |folder|
      cache = store(1 << 20)
      Tiercel::Insight.start(cache, folder:)
      50.times { |index| cache.fetch("a/#{index}") { 1 } }
      assert_match(/\Acannot tell yet: 50 sampled reads/, Tiercel::Insight.worth(cache).unknown)
      cache = ActiveSupport::Cache::FileStore.new("#{folder}/files")
      Tiercel::Insight.start(cache, folder: "#{folder}/insight")
      assert_equal "the store has no size", Tiercel::Insight.worth(cache).unknown
      assert_includes Tiercel::Insight::Summary.new(cache).to_text, "the store has no size"
    end
  end

  def test_the_sentence_in_milliseconds
    reads = Array.new(30_000) do |at|
      Tiercel::Insight::Figures::Read.new(at, (at * at % 1_009) * 4_000_000, at < 505 ? nil : 100, "feed/*")
    end
    capacity = Tiercel::Insight::Capacity.new(900, 256 << 20, :lru)
    worth = Tiercel::Insight::Worth.new(reads, 1.0, { warm: 0, reads: 30_000, misses: 1_000, requests: 3_000 },
                                        capacity:, costs: { "feed/*" => 0.002 })
    assert_match(/\A64.0 MB in place of 256.0 MB: 11 ms more per request \[/, worth.sentences.first)
    one = worth.classes.first
    assert_equal ["feed/*", 505, 29_495], one.to_h.values_at(:name, :entries, :hits)
    assert_in_delta 29_495 * 2 / 3_000.0, one.ms, 0.01
  end
end
