# frozen_string_literal: true
# suites: store

require "test_helper"
require "contracts/fetch_contract"
require "contracts/tags_contract"
require "support/fetch_places"

# `fetch` with leases, and tags, over tiers whose processes share the near one.
module TiersFetchContractTests
  module Stack
    def setup
      super
      store.clear
    end

    def build_store(**options)
      ActiveSupport::Cache::TiercelStore.new("shared:#{dir}/segment?size=16MB&ttl=600", far, timeout: 20, **options)
    end

    def across_processes? = true
    def sqlite = "sqlite:#{dir}/cache.sqlite3"
  end

  class SQLiteTest < Tiercel::TestCase
    include Tiercel::Contracts::FetchContract
    include Stack
    def far = sqlite
  end

  class RedisTest < Tiercel::TestCase
    include Tiercel::Contracts::FetchContract
    include Stack
    def far = FetchPlaces.redis.url
  end

  class TagsOnSQLiteTest < Tiercel::TestCase
    include Tiercel::Contracts::TagsContract
    include Stack
    def far = sqlite
  end
end
