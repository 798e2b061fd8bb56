# frozen_string_literal: true

require "active_support"
require "active_support/cache/tiercel_store"
require_relative "built_stores"
require_relative "fetch_contract/processes"
require "contracts/moved_clock"

%w[entries names fetching stale_values].each { |subject| require_relative "tags_contract/#{subject}" }

module Tiercel
  module Contracts
    # The contract of `tags:` and `invalidate_tags` for a store over any backend. docs/tags.md documents it. Include
    # it in a test class:
    #
    #   class MyTagsTest < Tiercel::TestCase
    #     include Tiercel::Contracts::TagsContract
    #
    #     # returns a store with these options; all stores of one test share their data, also after a fork
    #     def build_store(**options) = Tiercel.new("mine:", **options)
    #
    #     # whether other processes see this process' writes
    #     def across_processes? = true
    #   end
    #
    # The cache must be empty when a test begins. Stores are closed after each test.
    module TagsContract
      include FetchContract::Processes
      include Entries
      include Names
      include Fetching
      include StaleValues
      include BuiltStores

      private

      # @return [Array<Object>] the results of every kind of read
      def all_reads(name, from = store)
        [from.read(name), from.read(name, tags: ["any"]), from.exist?(name), from.read_multi(name)[name],
         from.fetch_multi(name) { nil }[name]]
      end
    end
  end
end
