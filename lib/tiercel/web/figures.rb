# frozen_string_literal: true

module Tiercel
  class Web
    # The numbers for a period: from the machine's account if the store has one, otherwise from the backend's counters
    # since it started.
    #
    # @private
    class Figures
      MINUTES = { "hour" => 60, "day" => 1_440 }.freeze
      MOST_CLASSES = 1_000
      SUMS = %i[hits misses evictions stale_hits lease_waits lease_wait_seconds blocks block_seconds writes
                deletes].freeze
      private_constant :SUMS

      # @return [Array<Hash{Symbol => Object}>] see {Account::Reading#minutes}; empty without an account
      attr_reader :minutes

      # @param store [ActiveSupport::Cache::Store]
      # @param period [String] "hour" or "day"
      # @raise [Error] if the backend does not answer
      def initialize(store, period)
        @store = store
        @period = period
        @stats = (store.stats if store.respond_to?(:backend)) || {}
        @account = store.account if store.respond_to?(:account)
        @minutes = @account ? @account.minutes(MINUTES.fetch(@period)) : []
        @sums = @account ? sums : @stats
      end

      # @return [Boolean] whether the numbers cover the period, instead of all time
      def of_period? = !@account.nil?

      # @return [String]
      def title = of_period? ? { "hour" => "The last hour", "day" => "The last day" }.fetch(@period) : "Since the start"

      # @return [String] the scope of the numbers
      def scope
        return "Counts of the backend." unless of_period?
        return "All processes of this machine." if machine?
        "This process only: on #{@store.backend} each process counts for itself."
      end

      # @return [Boolean]
      def machine? = @account.scope == :machine

      SUMS.each do |name|
        define_method(name) { @sums[name] || 0 }
      end

      # @return [Integer, nil] number of entries in the last tier
      def entries = @stats[:entries]

      # @return [String]
      def entries_note = @stats[:tiers] ? "in the last of #{@stats[:tiers].size} tiers" : "at present"

      # @return [Array(Integer, Integer), nil] used and total bytes of the nearest tier with a limit, or of the last
      #   tier if none has a limit
      def room
        tiers = [*@stats[:tiers]&.values&.compact, @stats]
        all = tiers.map { |stats| [stats[:bytes], stats[:log_bytes] || stats[:size_bytes]] }
        all.find(&:all?) || (all.last if all.last.first)
      end

      # @param limit [Integer]
      # @return [Array<Hash{Symbol => Object}>] see {Account::Reading#classes}; empty without an account
      def classes(limit = MOST_CLASSES) = @account ? @account.classes(@period.to_sym, limit:) : []

      private

      def sums = SUMS.to_h { |name| [name, minutes.sum { |minute| minute[name] }] }
    end
  end
end
