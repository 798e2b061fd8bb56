# frozen_string_literal: true

# Rails' own test suites for its cache stores, run against Tiercel. They are not part of this repository:
# bin/test rails_behaviours --rails PATH takes them from Rails' repository and says in RAILS_BEHAVIOURS where
# activesupport/test is.

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

  # ... for its file store.
  FILE = [*MEMORY, CacheStoreFormatVersionBehavior].freeze

  # Redis and memcached delete by glob where Rails' suite has a Regexp.
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

  # ... for its stores on servers. ConnectionPoolBehavior needs #store and #emulating_latency of the class, and
  # FailureSafetyBehavior #emulating_unavailability; FailureRaisingBehavior is Redis' alone.
  REMOTE = [
    *(FILE - [CacheDeleteMatchedBehavior]), LocalCacheBehavior, EncodedKeyCacheBehavior, ConnectionPoolBehavior,
    FailureSafetyBehavior, DeleteMatchedByGlob
  ].freeze

  # The base of the classes here: stores of one backend's URL.
  #
  # TIERCEL_BEHAVIOURS_STORE=memory_store runs the classes against that store of Rails' instead: a check of
  # this harness, as Rails' own store must pass.
  class TestCase < ActiveSupport::TestCase
    STAND_IN = ENV["TIERCEL_BEHAVIOURS_STORE"]&.to_sym

    def setup
      @cache = lookup_store(expires_in: 60)
      @peek = lookup_store(expires_in: 60)
    end

    # @param options [Hash] of the store
    # @return [ActiveSupport::Cache::Store]
    def lookup_store(options = {})
      place = STAND_IN ? [STAND_IN] : [:tiercel_store, url]
      ActiveSupport::Cache.lookup_store(*place, **options)
    end

    private

    # @return [String] the backend's URL
    def url = raise(NotImplementedError)
  end
end
