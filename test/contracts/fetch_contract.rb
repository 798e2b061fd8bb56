# frozen_string_literal: true

require "active_support"
require "active_support/cache/tiercel_store"
require_relative "built_stores"
require "contracts/moved_clock"
require_relative "fetch_contract/processes"

%w[single_flight slow_blocks failures lost_holders invalidation cycles suspended_fibers placeholders stale_values
   revalidation events side_effects displacement]
  .each { |subject| require_relative "fetch_contract/#{subject}" }

module Tiercel
  module Contracts
    # The contract of `fetch` and `fetch_multi` when many callers want one value, for a store over any backend.
    # docs/fetch.md documents it. Include it in a test class:
    #
    #   class MyFetchTest < Tiercel::TestCase
    #     include Tiercel::Contracts::FetchContract
    #
    #     # returns a store with these options; all stores of one test share their data, also after a fork
    #     def build_store(**options) = Tiercel.new("mine:", **options)
    #
    #     # whether other processes see this process' writes
    #     def across_processes? = true
    #   end
    #
    # The cache must be empty when a test begins. Stores are closed after each test.
    module FetchContract
      include Processes
      include SingleFlight
      include SlowBlocks
      include Failures
      include LostHolders
      include Invalidation
      include Cycles
      include SuspendedFibers
      include Placeholders
      include StaleValues
      include Revalidation
      include Events
      include SideEffects
      include Displacement
      include BuiltStores

      def after_teardown
        eventually("a refresh goes on") { Fetch::Refresh.idle? }
        super
      end

      private

      # No lease lapses because the machine is busy.
      def new_store(**) = super(lease: true, lease_ttl: 60, **)

      # @return [Array<Object>] the blocks' values; each block is called in its own thread, all concurrently
      def in_threads(count)
        store # created once, by this thread
        gate = Queue.new
        @callers = Array.new(count) { |index| Thread.new { gate.pop && yield(index) } }
        count.times { gate << true }
        @callers.map(&:value)
      end

      # Waits, in a block of {#in_threads}, until the other callers wait for it.
      def others_wait(store, count = @callers.size - 1)
        eventually("others wait") { store.stats[:followers] >= count }
      end
    end
  end
end
