# frozen_string_literal: true

require_relative "../../clock"
require_relative "../../errors"
require_relative "databases"

module Tiercel
  module Store
    module Fetch
      # The `timeout:` of one call of `fetch`. After `soft` the call returns an expired value, if it may return one;
      # after `hard` it raises a {FetchTimeout}.
      #
      # @private
      class TimeLimit
        # @param policy [FetchPolicy]
        # @return [TimeLimit, nil] nil without `timeout:`, and inside a transaction of the database: the transaction
        #   belongs to its thread, so the block must run there
        def self.for(policy)
          new(policy) if policy.timeout? && !Databases.in_transaction?
        end

        # @param policy [FetchPolicy]
        def initialize(policy)
          began = Clock.monotonic
          @soft = began + policy.soft_timeout if policy.soft_timeout
          @hard = began + policy.hard_timeout if policy.hard_timeout
          @soft_seconds, @hard_seconds = policy.soft_timeout, policy.hard_timeout
        end

        # @param stale [Boolean] see {#ends_at}
        # @return [Float, nil] seconds until the call's limit
        def seconds(stale:) = (stale && @soft_seconds) || @hard_seconds

        # @param stale [Boolean] whether the call has an expired value to return
        # @return [Float, nil] the end of this call's waits, a time of {Clock.monotonic}; nil for no limit
        def ends_at(stale:) = (stale && @soft) || @hard

        # Limits a wait, so that the caller checks its time limit in time.
        #
        # @param deadline [Float] another deadline of the wait, a time of {Clock.monotonic}
        # @return [Float] that deadline, or the end of this limit if it is earlier
        def before(deadline)
          soft = @soft if @soft && @soft > Clock.monotonic
          [deadline, soft, @hard].compact.min
        end

        # @param stale [Boolean] see {#ends_at}
        # @return [Boolean]
        def passed?(stale:)
          ends_at = ends_at(stale:)
          !ends_at.nil? && ends_at <= Clock.monotonic
        end

        # @param key [String]
        # @return [FetchTimeout]
        def error(key)
          FetchTimeout.new("timeout: no value within #{@hard_seconds} s, and none that has ended to serve in its place",
                           key:, seconds: @hard_seconds)
        end
      end
    end
  end
end
