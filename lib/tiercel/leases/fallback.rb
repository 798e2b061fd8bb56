# frozen_string_literal: true

require_relative "../errors"
require_relative "../leases"
require_relative "placeholders"
require_relative "unleased"

module Tiercel
  class Leases
    # Chooses {Placeholders} if the server supports compare-and-set, otherwise {Unleased}. The first lease of a
    # process asks the server, so that no process writes a placeholder that it cannot replace.
    #
    # @private
    class Fallback < Leases
      # @param backend [Backend]
      # @param guard [Guard]
      def initialize(backend, guard)
        super()
        @backend = backend
        @guard = guard
        @placeholders = Placeholders.new(backend, guard)
        @unleased = Unleased.new(backend, guard)
        @reported = false
      end

      def take(key, ttl, **, &)
        leases = leases(key) or return not_sent(@unleased.take(key, ttl, **, &))
        leases.take(key, ttl, **, &)
      end

      def take_absent(key, ttl, version)
        leases = leases(key) or return not_sent(@unleased.take_absent(key, ttl, version))
        leases.take_absent(key, ttl, version)
      end

      def asks_at_once? = @placeholders.asks_at_once?

      def ask(key, ttl, version)
        leases = leases(key) or return not_sent(@unleased.take_absent(key, ttl, version))
        leases.ask(key, ttl, version)
      end

      def take_multi(keys, ttl, versions: {}, shown: {}, &)
        leases = leases(keys.first)
        return leases.take_multi(keys, ttl, versions:, shown:, &) if leases
        @unleased.take_multi(keys, ttl, versions:, shown:, &).transform_values { |answer| not_sent(answer) }
      end

      def fill(lease, bytes, ttl) = known.fill(lease, bytes, ttl)
      def fill_multi(frames, ttl) = known.fill_multi(frames, ttl)
      def release(lease, pause: nil, stale_ttl: nil) = known.release(lease, pause:, stale_ttl:)
      def wait(lease, deadline) = @placeholders.wait(lease, deadline)
      def seen(key, bytes) = @placeholders.seen(key, bytes)
      def close = @placeholders.close
      def lapsed?(lease) = @placeholders.lapsed?(lease)

      private

      # @return [Leases, nil] nil if the server does not answer
      def leases(key)
        compares = @backend.compares?(ask: false)
        compares = @guard.call(:take_lease, key) { @backend.compares? } if compares.nil? && !@guard.timing_out?
        report(key) if compares == false && !@reported
        return if compares.nil?
        compares ? @placeholders : @unleased
      end

      # @return [Lease, Present] a lease that was never sent to the server
      def not_sent(answer) = answer.is_a?(Lease) ? answer.not_sent : answer

      def known = @backend.compares?(ask: false) == false ? @unleased : @placeholders

      def report(key)
        @reported = true
        @guard.call(:take_lease, key) do
          raise Refused.new("this server runs no scripts for this user, so fetch works as with lease: false: every " \
                            "caller computes for itself. Allow EVAL and EVALSHA (ACL SETUSER ... +@scripting), or " \
                            "say lease: false", backend: @backend.to_s, key: key)
        end
      end
    end
  end
end
