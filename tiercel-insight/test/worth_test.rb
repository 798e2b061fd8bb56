# frozen_string_literal: true

# suites: insight

require "test_helper"
require "active_support/cache/tiercel_store"
require "json"
require "minitest/mock"
require "support/rails_app"
require "tiercel/insight"
require "tiercel/segment"

# Predictions for other sizes, compared with stores that really have these sizes.
class WorthTest < Tiercel::TestCase
  REQUESTS = ENV["TIERCEL_LONG"] == "1" ? 30_000 : 20_000
  COST_SECONDS = 0.002

  def teardown = Tiercel::Insight.stop

  # Each trace is an Array of keys, bytes and TTLs (:write for a write). Popular keys; with a scan; with other popular
  # keys in each of six phases; with TTLs, after which a key is read again more often than a cache of twice the size
  # evicts it; a loop just above a size; beside writes of keys that nobody reads.
  def made_traces
    random = Random.new(1)
    popular = -> { (random.rand**5 * 4_000).to_i } # about a Zipf law with 0.8
    phase = ->(at) { at % 7 == 0 ? 50_000 + random.rand(4_000) : (popular.call / 4) + (at * 6 / REQUESTS * 4_000) }
    numbers = { "popular keys" => Array.new(REQUESTS) { popular.call },
                "scans" => Array.new(REQUESTS) { |at| at % 4 == 3 ? 100_000 + (at % 9_000) : popular.call },
                "phases" => Array.new(REQUESTS, &phase),
                "TTLs" => Array.new(REQUESTS) { popular.call }, "loop" => Array.new(REQUESTS) { |at| at % 2_000 },
                "writes" => Array.new(REQUESTS) { |at| at % 3 == 0 ? 200_000 + random.rand(5_000) : popular.call } }
    how = { "TTLs" => ->(one) { 100 + (one % 3 * 50) }, "writes" => ->(one) { :write if one >= 200_000 } }
    numbers.to_h do |name, trace|
      [name, trace.map { |one| ["item/#{one}", 500 + (one * 37 % 1_000), how[name]&.call(one)] }]
    end
  end

  # Each slice of 500 reads takes 20 seconds.
  def later(seconds, &)
    clock = Process.method(:clock_gettime)
    moved = ->(id, unit = :float_second) { clock.call(id, unit) + (unit == :millisecond ? seconds * 1_000 : 0) }
    Process.stub(:clock_gettime, moved) { travel(seconds, &) }
  end

  # The reads of the lab's shop with 3,000 products: visitors who prefer some products; a crawler and editors.
  def recorded_traces
    found = RailsApp.open { |app| app.runner(File.read(File.expand_path("load/shop_trace.rb", __dir__))) }
    assert_predicate found, :ok?, found.to_s
    JSON.parse(found.out)
  end

  # The miss ratio after the first third.
  def run_trace(store, trace, warm = trace.size / 3)
    misses = reads = 0
    trace.each_with_index.each_slice(500).with_index do |part, slice|
      later(slice * 20) do
        part.each do |(key, bytes, ttl), at|
          next store.write(key, "v" * bytes) if ttl == :write
          reads += 1 if at >= warm
          store.fetch(key, expires_in: ttl) do
            misses += 1 if at >= warm
            "v" * bytes
          end
        end
        yield if block_given?
      end
    end
    misses.fdiv(reads)
  end

  # @yieldparam size [Integer]
  # @return [Array<Array>] of each factor: the trace's name, the difference in miss ratio to the real one, and whether
  #   the interval in milliseconds contains the real change
  def predictions(traces, sizes, share: 0.5)
    traces.flat_map do |name, trace|
      caches = sizes.to_h { |factor, size| [factor, yield(size)] }
      with_tmpdir do |folder|
        Tiercel::Insight.start(caches[1.0], folder:, share:)
        now = run_trace(caches[1.0], trace) { Tiercel::Insight.collector.flush }
        reads, share, counted = Tiercel::Insight.figures.sample
        reads.each { |read| read.seconds = COST_SECONDS }
        worth = Tiercel::Insight::Worth.new(reads, share, counted, capacity: Tiercel::Insight::Capacity.of(caches[1.0]))
        caches.except(1.0).map { |factor, cache| compared(worth, factor, name, run_trace(cache, trace), now) }
      end
    end
  end

  def compared(worth, factor, name, really, now)
    size = worth.sizes.find { |one| one.factor == factor }
    ms = (really - now) * 1_000 * COST_SECONDS * 1_000
    [name, (size.miss_ratio - really).round(4), ms.between?(size.ms_low, size.ms_high)]
  end

  def assert_close(found) = assert_operator(found.map { |_, off| off.abs }.max, :<=, 0.02, found.inspect)

  def test_predictions_for_a_memory_store
    sizes = { 1.0 => 1 << 20, 0.5 => 1 << 19, 2.0 => 1 << 21 }
    build = ->(size) { ActiveSupport::Cache::MemoryStore.new(size:, compress: false) }
    found = predictions(made_traces, sizes, &build)
    assert_close(found)
    # In the shop, sizes differ by ten times.
    assert_close(recorded = predictions(recorded_traces, sizes, share: nil, &build)) if long?
    found += recorded.to_a
    assert_operator found.count(&:last), :>=, (found.size * 0.9).floor, found.inspect
  end

  # A segment's hash key decides which keys are sampled and evicted.
  def test_predictions_for_a_segment
    sizes = { 1.0 => 2 << 20, 0.5 => 1 << 20, 2.0 => 4 << 20 }
    open = Tiercel::Segment.method(:open)
    found = Tiercel::Segment.stub(:open, ->(*place, **options) { open.call(*place, **options, hash_key: "5" * 16) }) do
      predictions(made_traces, sizes) { |size| Tiercel.new("memory:", size:, compress: false) }
    end
    assert_close(found)
    assert_operator found.count(&:last), :>=, (found.size * 0.9).floor, found.inspect
  end

  def test_it_cannot_tell_from_a_small_sample_or_without_a_size
    cache = ActiveSupport::Cache::MemoryStore.new(size: 1 << 20)
    Tiercel::Insight.start(cache, folder: dir)
    50.times { |index| cache.fetch("a/#{index}") { 1 } }
    assert_match(/\Acannot tell yet: 50 sampled reads/, Tiercel::Insight.worth(cache).unknown)
    assert_match(/the store is empty here/, Tiercel::Insight.worth(ActiveSupport::Cache::MemoryStore.new).unknown)
    cache = ActiveSupport::Cache::FileStore.new("#{dir}/files")
    Tiercel::Insight.start(cache, folder: "#{dir}/insight")
    assert_equal "the store has no size", Tiercel::Insight.worth(cache).unknown
  end

  # A loop that only the larger cache holds. Half of its entries expire before their next read, the others after it.
  def test_ttls_that_differ_from_write_to_write
    random = Random.new(1)
    reads = Array.new(8_000) do |at|
      Tiercel::Insight::Figures::Read.new(at * 250, at % 400 * 9_000_000, nil, "api/*", [50, 150].sample(random:))
    end
    capacity = Tiercel::Insight::Capacity.new(300, 300 << 10, :lru)
    worth = Tiercel::Insight::Worth.new(reads, 1.0, { warm: 0, reads: 8_000, misses: 8_000, requests: 0 }, capacity:)
    assert_in_delta 2 / 3.0, worth.sizes[3].miss_ratio, 0.02
  end

  def test_the_sentence_in_milliseconds
    reads = Array.new(30_000) do |at|
      Tiercel::Insight::Figures::Read.new(at, (at * at % 1_009) * 4_000_000, at < 505 ? nil : 100, "feed/*")
    end
    reads += Array.new(60) { |at| Tiercel::Insight::Figures::Read.new(at, at, nil, "absent/*") }
    capacity = Tiercel::Insight::Capacity.new(900, 256 << 20, :lru)
    worth = Tiercel::Insight::Worth.new(reads, 1.0, { warm: 0, reads: 30_000, misses: 1_000, requests: 3_000 },
                                        capacity:, costs: { "feed/*" => 0.002 })
    assert_match(/\A64.0 MB in place of 256.0 MB: 19 ms more per request \[/, worth.sentences.first)
    shape = ->(text) { text.sub("more", "less").gsub(/\d[\d.]*/, "N") }
    assert_includes shape[File.read(File.expand_path("../../docs/insight.md", __dir__))], shape[worth.sentences.first]
    one, *others = worth.classes
    assert_empty others, "a class that no block computes holds nothing"
    assert_equal ["feed/*", 505, 29_495], one.to_h.values_at(:name, :entries, :hits)
    assert_in_delta 29_495 * 2 / 3_000.0, one.ms, 0.01
  end
end
