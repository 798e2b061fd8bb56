# frozen_string_literal: true

require_relative "lease_round"
require_relative "multi_miss/in_time"
require_relative "slices"

module Tiercel
  module Store
    module Fetch
      # `fetch_multi` has read, and some names are missing:
      #
      #   {Slices}: a {LeaseRound} each, which waits for nobody -> then each of the others as a {Miss} of its own
      #
      # A waiting caller holds nothing, so callers of [a, b] and of [b, a] never wait for each other.
      #
      # With `timeout:` there is one round, whose blocks run in one thread, and all of them share one {TimeLimit}.
      #
      # @private
      class MultiMiss
        include InTime

        # @param settings [Settings]
        # @param calls [Array<Call>] in the order of the names
        # @param policy [FetchPolicy] of all of them
        # @param options [Hash] of all of them, merged
        # @param useless [Hash{String => Accessor::Found}] by key, what the read has found that was no value
        def initialize(settings, calls, options, policy, useless)
          @settings = settings
          @calls = calls
          @options = options
          @policy = policy
          @useless = useless
          @values = {}
        end

        # @return [Hash{Object => Object}] names and values
        def values
          @limit = TimeLimit.for(@policy)
          first = @calls.uniq(&:key)
          @limit ? compute_in_time(first) : compute_in_slices(first)
          @calls.to_h do |call|
            [call.name, @values.fetch(call) { miss(call).value }]
          end
        end

        private

        def compute_in_slices(calls)
          Slices.new(calls).each do |slice|
            round = round_of(slice)
            round.take
            round.compute
            @values.update(round.values)
          ensure
            round&.leave
          end
        end

        def round_of(calls) = LeaseRound.new(@settings, calls, @options, @policy, @useless) { |call| miss(call) }

        def miss(call) = Miss.new(@settings, call, @limit)
      end
    end
  end
end
