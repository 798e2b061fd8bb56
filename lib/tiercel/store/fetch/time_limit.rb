# frozen_string_literal: true

require_relative "../../clock"
require_relative "../../errors"
require_relative "databases"

module Tiercel
  module Store
    module Fetch
      # How long one call of `fetch` may take: `timeout:`. Past `soft` it is given a value that has ended, where there
      # is one that may be served; past `hard` it is given up.
      #
      # @private
      class TimeLimit
        # @param policy [FetchPolicy]
        # @return [TimeLimit, nil] nil where there is none, and inside an open transaction of the database, which
        #   belongs to the thread that is in it
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
        # @return [Float, nil] seconds that the call is given
        def seconds(stale:) = (stale && @soft_seconds) || @hard_seconds

        # @param stale [Boolean] whether there is a value to serve in the place of the one that is waited for
        # @return [Float, nil] of {Clock.monotonic}: when this call waits no longer; nil for never
        def ends_at(stale:) = (stale && @soft) || @hard

        # When a caller that waits has to look what it has.
        #
        # @param deadline [Float] of {Clock.monotonic}, of another cause
        # @return [Float] that, or one of its own that comes before
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
