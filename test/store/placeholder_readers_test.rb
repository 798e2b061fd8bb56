# frozen_string_literal: true
# suites: store*

require "test_helper"
require "support/ruby_coder"
require "active_support/cache/mem_cache_store"
require "active_support/cache/redis_cache_store"
require "support/fetch_places"

# Deploys: while one process computes a value, its key is read by processes that do not know leases: Tiercel without
# leases, and Rails' own stores.
class PlaceholderReadersTest < Tiercel::TestCase
  STALE = { stale_while_revalidate: 600, expires_in: 60 }.freeze

  # @return [ActiveSupport::Cache::Store] a Rails store that reads the bytes of a backend under the name
  RAILS = {
    redis: lambda do |backend, _|
      ActiveSupport::Cache::RedisCacheStore.new(url: backend.to_s, pool: false, read_timeout: 20)
    end,
    memcached: lambda do |backend, _|
      Dalli.logger = Logger.new(IO::NULL) # on Rails 7.2 it warns about Marshal
      ActiveSupport::Cache::MemCacheStore.new(backend.to_s[%r{//(.+)}, 1], pool: false, socket_timeout: 20)
    end,
    # Its folders differ from ours, so the bytes are copied to its path.
    file: lambda do |backend, dir|
      ActiveSupport::Cache::FileStore.new("#{dir}/rails").tap do |rails|
        rails.write("name", "other")
        File.binwrite(rails.send(:normalize_key, "name", rails.options), backend.get("name"))
      end
    end,
  }.freeze

  RAILS.each do |place, rails|
    define_method(:"test_rails_store_over_#{place}_reads_a_miss_and_writes_in_its_place") do
      while_computing(place) do |store|
        other = rails.call(store.backend, dir)
        reports = capture_reports do
          assert_nil other.read("name")
          assert_equal({}, other.read_multi("name"))
          assert_equal false, other.exist?("name")
          assert_equal("rails", other.fetch("name") { "rails" })
          assert_equal "rails", other.read("name")
        end
        assert_empty reports
        assert_equal "rails", store.read("name") unless place == :file
      end
    end
  end

  # The store reads frames of the same version and acquires no leases.
  FetchPlaces::SHARED.each do |place|
    define_method(:"test_without_leases_#{place}_has_a_miss") do
      while_computing(place) do |store|
        other = build(place, lease: false)
        reports = capture_reports do
          assert_nil other.read("name")
          assert_equal({}, other.read_multi("name"))
          assert_equal false, other.exist?("name")
          assert_equal("other", other.fetch("name") { "other" })
          assert_equal ["other", "other"], [other, store].map { |reader| reader.read("name") }
        end
        assert_empty reports
      end
      assert_equal "other", build(place).read("name"), "what was computed before it loses"
    end
  end

  # Within stale_while_revalidate, the lease contains the expired value.
  (FetchPlaces::SHARED - [:shared]).each do |place|
    define_method(:"test_without_leases_#{place}_has_a_miss_where_a_lease_keeps_an_ended_value") do
      build(place, lease: true, **STALE).tap { |store| store.delete("name") }.fetch("name") { "old" }
      travel(61) do
        while_computing(place, **STALE) do |store|
          assert Tiercel::Leases::Placeholder.placeholder?(store.backend.get("name"))
          other = build(place, lease: false)
          assert_empty(capture_reports { assert_nil other.read("name") })
          assert_empty(capture_reports { assert_equal false, other.exist?("name") })
          assert_empty(capture_reports { assert_equal({}, other.read_multi("name")) })
          assert_equal("other", other.fetch("name") { "other" })
          assert_equal "other", store.read("name")
        end
      end
    end
  end

  # The first bytes of a frame show its type, so the decoders in C and in Ruby agree.
  def test_both_decoders_see_a_miss
    lease = Tiercel::Leases::Lease.new("name", "l" * 8, "h" * 8, stale: "old", version: "1")
    bytes = Tiercel::Leases::Placeholder.build(lease, 10.0)
    coder = Tiercel::Coder.new
    assert_nil coder.load(bytes)
    assert_same Tiercel::Coder::MISS, coder.load_value(bytes)
    assert_same Tiercel::Coder::MISS, RubyCoder.new.load_value(bytes)
  end

  private

  def build(place, **options) = FetchPlaces.build(place, dir, compress: false, **options)

  # Runs another thread while the value of "name" is computed.
  def while_computing(place, **options)
    store = build(place, lease: true, lease_ttl: 60, **options)
    store.delete("name") if options.empty?
    store.fetch("name") { Thread.new { yield store }.join && "computed" }
  end
end
