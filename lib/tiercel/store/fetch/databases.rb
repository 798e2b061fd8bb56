# frozen_string_literal: true

module Tiercel
  module Store
    module Fetch
      # Asks Active Record, where it is loaded, about its transactions and connections.
      #
      # @private
      module Databases
        # @return [Boolean] whether this thread is inside a transaction
        def self.in_transaction?
          defined?(ActiveRecord) && ActiveRecord.respond_to?(:all_open_transactions) &&
            ActiveRecord.all_open_transactions.any?
        end

        # @return [Boolean] whether this thread keeps a connection of a pool
        def self.holding_a_connection? = held_pools.any?

        # The block for which this thread waits may itself be waiting for the connection.
        #
        # @return [Boolean] whether this thread keeps a connection of a pool in which other threads wait
        def self.starving_others? = held_pools.any? { |pool| pool.stat[:waiting].positive? }

        def self.held_pools
          return [] unless defined?(ActiveRecord) && ActiveRecord.autoload?(:Base).nil? && defined?(ActiveRecord::Base)
          ActiveRecord::Base.connection_handler.connection_pool_list(:all).select(&:active_connection?)
        end
        private_class_method :held_pools
      end
    end
  end
end
