# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache/tiercel_store"
require "active_support/core_ext/object/with"
require "contracts/store_contract"
require "support/heard_calls"
require "support/store_places"

# The contract of the store over SQLite and files. Backends do not depend on the Rails
# version, so one version is enough. The tests over memory run on all of them.
module StoreContractOnDiskTests
  # Longer than the default, in seconds, for threads that wait for a lock on a machine that is busy with other tests.
  TIMEOUT_SECONDS = 20

  module Place
    include Tiercel::Contracts::StoreContract
    def build_store(**options)
      ActiveSupport::Cache::TiercelStore.new(url, timeout: TIMEOUT_SECONDS, **options)
    end

    def build_peer(_store, **options) = build_store(**options)
  end

  module InSQLite
    include Place
    def url = "sqlite:#{dir}/cache.sqlite3"
  end

  # With subscribers and a logger.
  module InFiles
    include Place
    include HeardCalls
    def url = "file:#{dir}/cache"
  end

  StorePlaces.define(self, "Sqlite" => InSQLite, "File" => InFiles)
end
