# frozen_string_literal: true

# Rails' own test suites for its cache stores, run against Tiercel. The suites are not part of this repository: bin/test
# rails_behaviours --rails PATH extracts them from Rails' repository and sets RAILS_BEHAVIOURS to the path of
# activesupport/test.

ENV["PARALLEL_WORKERS"] = "1" # Rails' test case would fork workers, which could not share a backend's servers

require File.join(ENV.fetch("RAILS_BEHAVIOURS"), "abstract_unit")
require "active_support/cache"
require File.join(ENV.fetch("RAILS_BEHAVIOURS"), "cache/behaviors")

require "tiercel"

module RailsBehaviours
  # The suites that Rails runs for its memory store.
  MEMORY = [
    CacheStoreBehavior, CacheStoreVersionBehavior, CacheStoreCoderBehavior, CacheStoreCompressionBehavior,
    CacheStoreSerializerBehavior, CacheDeleteMatchedBehavior, CacheIncrementDecrementBehavior,
    CacheInstrumentationBehavior, CacheLoggingBehavior
  ].freeze

  # The suites for its file store.
  FILE = [*MEMORY, CacheStoreFormatVersionBehavior].freeze

  # Redis and memcached delete by glob, whereas Rails' suite uses a Regexp.
  module DeleteMatchedByGlob
    def test_delete_matched_with_a_glob
      @cache.write("foo", "bar")
      @cache.write("fu", "baz")
      @cache.write("foo/bar", "baz")
      @cache.write("fu/baz", "bar")
      @cache.delete_matched("*oo*")
      assert_not @cache.exist?("foo")
      assert @cache.exist?("fu")
      assert_not @cache.exist?("foo/bar")
      assert @cache.exist?("fu/baz")
    end
  end

  # The suites for its stores on servers. ConnectionPoolBehavior needs #store and #emulating_latency, and
  # FailureSafetyBehavior needs #emulating_unavailability; FailureRaisingBehavior is only for Redis.
  REMOTE = [
    *(FILE - [CacheDeleteMatchedBehavior]), LocalCacheBehavior, EncodedKeyCacheBehavior, ConnectionPoolBehavior,
    FailureSafetyBehavior, DeleteMatchedByGlob
  ].freeze

  # The base class: stores with the URLs of a class.
  #
  # TIERCEL_BEHAVIOURS_STORE=memory_store runs the classes against that Rails store instead. This run checks the
  # harness, because Rails' own store must pass.
  class TestCase < ActiveSupport::TestCase
    STAND_IN = ENV["TIERCEL_BEHAVIOURS_STORE"]&.to_sym

    def setup
      @cache = lookup_store(expires_in: 60)
      @peek = lookup_store(expires_in: 60)
    end

    # @param options [Hash] the store's options
    # @return [ActiveSupport::Cache::Store]
    def lookup_store(options = {})
      place = STAND_IN ? [STAND_IN] : [:tiercel_store, *urls]
      ActiveSupport::Cache.lookup_store(*place, **options)
    end

    private

    # @return [Array<String>] the URLs of its tiers
    def urls = raise(NotImplementedError)
  end
end
