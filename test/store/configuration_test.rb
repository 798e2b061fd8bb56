# frozen_string_literal: true
# quick

require "test_helper"
require "active_support/cache/tiercel_store"

class StoreConfigurationTest < Tiercel::TestCase
  # --- ways to build a store ---

  def test_by_rails_name
    store = ActiveSupport::Cache.lookup_store(:tiercel_store, "memory:", { namespace: "n", expires_in: 60 })
    assert_instance_of ActiveSupport::Cache::TiercelStore, store
    assert_equal ["n", 60], [store.namespace, store.options[:expires_in]]
    assert_equal "memory:", store.backend.to_s
  end

  def test_without_rails
    assert_instance_of ActiveSupport::Cache::TiercelStore, Tiercel.new("memory:")
    assert_instance_of ActiveSupport::Cache::TiercelStore, Tiercel.new(:memory)
    assert_equal "n", Tiercel.new("memory:", namespace: "n").namespace
  end

  def test_no_database_is_opened_by_loading_the_library
    code = 'require "tiercel"; puts %w[Redis Dalli SQLite3].select { |name| Object.const_defined?(name) }.inspect'
    assert_equal "[]\n", IO.popen([RbConfig.ruby, "-Ilib", "-e", code], &:read)
  end

  # --- URLs ---

  def test_a_scheme_that_nobody_knows
    error = assert_raises(Tiercel::ConfigurationError) { Tiercel.new("mysql://db") }
    assert_match(/unknown backend "?:?mysql"?: expected one of .*file.*memcached.*memory.*redis.*shared.*sqlite/,
                 error.message)
  end

  def test_the_url_goes_before_the_options
    store = Tiercel.new("memory:?size=1200KB", size: "1300KB")
    assert_equal 1_200 * 1_024, store.stats.values_at(:size, :size_bytes).compact.first
  end

  def test_nil_in_the_place_of_a_url
    [[nil], [""], [nil, "memory:"]].each do |urls|
      error = assert_raises(Tiercel::ConfigurationError, urls.inspect) { Tiercel.new(*urls) }
      assert_match(/backend URL (nil|""): expected SCHEME:.*is an environment variable not set/, error.message)
    end
    assert_raises(Tiercel::ConfigurationError) { ActiveSupport::Cache.lookup_store(:tiercel_store, nil) }
    url = { url: "redis://127.0.0.1:1/0" }
    error = assert_raises(Tiercel::ConfigurationError) { ActiveSupport::Cache.lookup_store(:tiercel_store, url) }
    assert_match(%r{url: give the URL first, and options after it: :tiercel_store, "redis://HOST}, error.message)
  end

  def test_habits_from_other_stores_are_answered_with_the_right_form
    { ["null:", { url: "redis://user:unspoken@host" }] => /url: give the URL first, .*"redis:\/\/HOST:6379\/0"/,
      ["null:", { read_timeout: 1 }] => /read_timeout: use `timeout: SECONDS`/,
      ["null:", { max_age: 60 }] => /max_age: use `expires_in: SECONDS`/,
      ["memory:", { sise: "1MB" }] => /got "1MB"\. sise: did you mean size\?\z/,
      ["memory:?sise=1MB", {}] => /got "1MB"\. sise: did you mean size\?$/,
      ["file:", {}] => /file: expected a folder/,
      ["file:/nowhere", { timeout: 0 }] => /timeout: expected seconds/,
      ["null:", { namespase: "x" }] => /got a String\. namespase: did you mean namespace\?$/,
      ["reddis://host", {}] => /\(did you mean redis\?\)/,
      ["memory:", { compressor: :zstdd }] => /\(did you mean zstd\?\)/,
      ["null:", { expires: 60 }] => /expires: use `expires_in: SECONDS`/,
      ["mem_cache_store", {}] => /\(did you mean "memcached:\/\/HOST:11211"\?\)/,
      ["memory", {}] => /\(did you mean "memory:"\?\)/,
      [:memory_store, {}] => /\(did you mean "memory:"\?\)/,
      ["localhost:6379", {}] => /\(did you mean "redis:\/\/localhost:6379"\?\)/,
      ["127.0.0.1:11211,127.0.0.2:11211", {}] => /\(did you mean "memcached:\/\/127.0.0.1:11211,127/,
      ["user:unspoken@host.example:11211", {}] => /expected SCHEME:|unknown backend/,
    }.each do |(url, options), expected|
      error = assert_raises(Tiercel::ConfigurationError, url) { Tiercel.new(url, **options) }
      assert_match(expected, error.message)
      refute_match(/unspoken/, error.message)
    end
  end

  # --- options ---

  def test_unknown_options_are_named_together
    error = assert_raises(Tiercel::ConfigurationError) { Tiercel.new("memory:", first: 1, second: 2) }
    assert_match(/:first, :second for .*got 1, 2$.*This backend knows.*:size.*Every store knows.*:namespace/m,
                 error.message)
  end

  def test_an_option_of_another_backend
    error = assert_raises(Tiercel::ConfigurationError) { Tiercel.new("null:", size: "1MB") }
    assert_match(/unknown option :size for null:.*none of its own/m, error.message)
  end

  def test_sizes_are_checked
    error = assert_raises(Tiercel::ConfigurationError) { Tiercel.new("memory:", size: "much") }
    assert_match(/size.*much/, error.message)
    urls = ["file:/nowhere", ("sqlite:/nowhere/cache" if Gem.loaded_specs.key?("sqlite3"))]
    urls.compact.each do |url|
      error = assert_raises(Tiercel::ConfigurationError) { Tiercel.new(url, size: 51_200) }
      assert_match(/size: expected at least 4 MB on disk .* got 51200/, error.message)
    end
  end

  def test_times_are_checked
    error = assert_raises(Tiercel::ConfigurationError) { Tiercel.new("memory:", expire_in: Time.now) }
    assert_match(/expire_in: expected seconds/, error.message)
    assert_equal 0, Tiercel.new("memory:", expires_in: 0).options[:expires_in]
    assert_equal 60, Tiercel.new("memory:", expires_in: ActiveSupport::Duration.minutes(1)).options[:expires_in]
  end

  def test_compress_threshold
    assert_equal 2_048, Tiercel.new("memory:", compress_threshold: "2KB").options[:compress_threshold]
    assert_equal 0, Tiercel.new("memory:", compress_threshold: 0).options[:compress_threshold]
    error = assert_raises(Tiercel::ConfigurationError) { Tiercel.new("memory:", compress_threshold: "much") }
    assert_match(/compress_threshold.*much/, error.message)
  end

  def test_near_backends_compress_large_values_only
    assert_equal 128 * 1_024, Tiercel.new("memory:").options[:compress_threshold]
    assert_equal 1_024, Tiercel.new("memory:", compress: true).options[:compress_threshold]
    assert_equal 500, Tiercel.new("memory:", compress_threshold: 500).options[:compress_threshold]
  end

  def test_marshal_false_and_a_serializer_that_is_marshal
    error = assert_raises(Tiercel::ConfigurationError) { Tiercel.new("memory:", marshal: false, serializer: :marshal) }
    assert_match(/marshal: false/, error.message)
  end
end
