# frozen_string_literal: true

require_relative "../forks"

module Tiercel
  module Metrics
    # The increments of this process since the last call.
    #
    # @private
    class Increments
      # @param account [Account]
      def initialize(account)
        @account = account
        @lock = Mutex.new
        @before = {}
        @process = Forks.current
      end

      # @yieldparam definition [Definition]
      # @yieldparam tags [Hash{Symbol => String}]
      # @yieldparam increment [Integer, Float] > 0
      # @return [void]
      def each(&)
        @lock.synchronize do
          @before = {} unless Forks.current?(@process)
          @process = Forks.current
          own = @account.own
          OF_STORE.each { |definition| count(definition, {}, own, &) }
          own[:tiers].each do |tier, figures|
            OF_TIER.each { |definition| count(definition, { tier:, **definition.tags }, figures, &) }
          end
        end
      end

      private

      def count(definition, tags, figures)
        now = figures.fetch(definition.figure)
        at = [definition.figure, tags]
        increment = now - @before.fetch(at, 0)
        return unless increment.positive?
        @before[at] = now
        yield definition, tags, increment
      end
    end
  end
end
