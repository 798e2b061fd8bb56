# frozen_string_literal: true

module Tiercel
  module Backends
    class Redis < Backend
      # Near tiers subscribe to the server's invalidation messages, and report the entries that were read near as used.
      module BehindTiers
        # Matches the INFO of a server that evicts by use.
        BY_USE = /^maxmemory:[1-9].*^maxmemory_policy:\w+-l[rf]u/m
        POLICY_SECONDS = 60.0
        private_constant :BY_USE, :POLICY_SECONDS

        # A replica may lag behind the messages that it has sent. The masters of a cluster can change at any time
        # (adr/016).
        def subscribable? = @subscribable

        # Checks once a minute, because the server's eviction policy may change.
        def uses_wanted?
          return false if @several
          now = Clock.monotonic
          return @evicts_by_use if @asked_at && now - @asked_at < POLICY_SECONDS
          @asked_at = now
          @evicts_by_use = BY_USE.match?(expect(String, ask("INFO", "memory")))
        end

        # @param keys [Array<String>] the keys that were read in a near tier
        def used(keys)
          call(["TOUCH", *keys], nil)
          nil
        end

        # @param prefix [String, nil] limits the messages to keys with this prefix; nil for all keys
        # @return [Subscription] a subscription that is not connected yet
        def subscription(prefix = nil)
          Subscription.new(@name, prefix) { |protocol| @address.connection(protocol: protocol) }
        end

        # @param prefix [String, nil] see {#subscription}
        # @return [SeenServers] collects the servers of all connections used since the last {#renew}
        def watch_servers(prefix = nil)
          @commands.servers ||= SeenServers.new
          @commands.servers.tap { |servers| servers.prefix = prefix }
        end

        # Replaces all connections: later calls open new ones, because the address may lead to another server by now.
        #
        # @return [void]
        def renew = @commands.renew
      end
    end
  end
end
