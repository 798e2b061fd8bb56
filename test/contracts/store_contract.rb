# frozen_string_literal: true

require "logger"
require "stringio"
require "active_support"
require "active_support/cache/tiercel_store"
require "active_support/error_reporter"
require "active_support/notifications"
require_relative "built_stores"
require "contracts/moved_clock"

%w[
  compare_and_set counters coders compression delete_matched expiry fetching instrumentation local_caching logging
  maintenance
  multi_operations names namespaces option_errors race_condition raw_values read_once reading_and_writing serializers
  silence store_object undecodable unless_exist untrusted versions
].each { |subject| require_relative "store_contract/#{subject}" }

module Tiercel
  module Contracts
    # The contract of a cache store over any backend: Rails' cache API on the three supported Rails versions, and
    # Tiercel's additions. Include it in a test class:
    #
    #   class MyStoreTest < Tiercel::TestCase
    #     include Tiercel::Contracts::StoreContract
    #
    #     # returns a store with these options; the stores of one test may or may not share their data
    #     def build_store(**options) = Tiercel.new("mine:", **options)
    #
    #     # returns a store on the same data as `store`, as another process would open it; nil if there is none
    #     def build_peer(store, **options) = nil
    #   end
    #
    # The cache must be empty when a test begins. Stores are closed after each test. Tests move `Time.now` and never
    # sleep; they skip cases that depend on a remote server's clock.
    module StoreContract
      include ReadingAndWriting
      include ReadOnce
      include Fetching
      include Names
      include Namespaces
      include MultiOperations
      include Expiry
      include RaceCondition
      include Versions
      include Coders
      include Compression
      include Serializers
      include Counters
      include CompareAndSet
      include RawValues
      include UnlessExist
      include DeleteMatched
      include Instrumentation
      include Logging
      include LocalCaching
      include Maintenance
      include Undecodable
      include Untrusted
      include OptionErrors
      include Silence
      include StoreObject
      include BuiltStores

      # A name with its own key and version, like an Active Record record.
      Record = Struct.new(:cache_key, :cache_version)

      # One notification.
      Event = Struct.new(:name, :payload) do
        def [](key) = payload[key]
      end

      # @return [ActiveSupport::Cache::TiercelStore, nil] see {StoreContract}
      def build_peer(_store, **) = nil

      # @return [Array<Object>] values that must load equal, with the same class and encoding; overridden for a
      #   serializer that loses information
      def storable_values
        [nil, true, false, 0, -1, 2**70, 1.5, "", "text", "\u00fcml\u00e4ut", "bytes\xFF\x00".b, :symbol,
         [1, [2, nil]], { "a" => 1, :b => [1.0] }, Time.at(1_700_000_000, 5), 1..3, "x" * 200_000]
      end

      private

      def peer_of(store, **options)
        closed_later(build_peer(store, **options) || skip("#{store.backend} has no peer"))
      end

      def later(seconds, &) = MovedClock.by(seconds, &)

      # Skips the test if a server expires the entries: moving `Time.now` affects only the frame's expiry.
      def needs_own_clock
        skip "#{store.backend} ends raw values by its own clock" if store.backend.remote?
      end

      # @return [Array<Event>] the cache's notifications during the block
      def events(pattern = /\Acache_.*\.active_support\z/, &block)
        seen = []
        record = lambda do |name, _start, _finish, _id, payload|
          seen << Event.new(name[/\Acache_(.*)\.active/, 1], payload.dup)
        end
        ActiveSupport::Notifications.subscribed(record, pattern, &block)
        seen
      end

      # @return [String] the store's log lines during the block
      def log_of(logged_store = store, level: ::Logger::DEBUG)
        output = StringIO.new
        previous = ActiveSupport::Cache::Store.logger
        logged_store.logger = ::Logger.new(output, level: level)
        yield
        output.string
      ensure
        logged_store.logger = previous
      end

      # @return [Array<Exception>] errors reported to ActiveSupport.error_reporter during the block
      def reports(&) = capture_reports(&).map(&:error)

      # @return [String] the key that the store sends to its backend for a name
      def key_of(name) = store.stored_key(name)
    end
  end
end
