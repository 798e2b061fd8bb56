# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache/tiercel_store"
require "active_support/core_ext/object/with"
require "contracts/store_contract"
require "tmpdir"

# The contract of the store over SQLite and files, on the fast path and off it. The tests over memory run on every Rails
# version. Below the store nothing depends on it.
module StoreContractOnDiskTests
  # Longer than the default, in seconds, for threads that wait for a lock on a machine that is busy with other tests.
  TIMEOUT_SECONDS = 5

  module Place
    include Tiercel::Contracts::StoreContract

    # @return [String] a directory that exists until the end of the test
    def dir = @dir ||= Dir.mktmpdir("tiercel-store-")

    def build_store(**options)
      ActiveSupport::Cache::TiercelStore.new(url, timeout: TIMEOUT_SECONDS, **self.class::OPTIONS, **options)
    end

    def build_peer(_store, **options) = build_store(**options)

    def after_teardown
      super
      FileUtils.rm_rf(@dir) if @dir
      @dir = nil
    end
  end

  module InSQLite
    include Place
    def url = "sqlite:#{dir}/cache.sqlite3"
  end

  module InFiles
    include Place
    def url = "file:#{dir}/cache"
  end

  { sqlite: InSQLite, file: InFiles }.each do |scheme, place|
    { "Fast" => {}, "Plain" => { fast_path: false } }.each do |label, options|
      test_class = Class.new(Tiercel::TestCase) { include place }
      test_class.const_set(:OPTIONS, options)
      const_set("#{scheme.capitalize}#{label}Test", test_class)
    end
  end
end
