# frozen_string_literal: true

require_relative "../clock"

module Tiercel
  class Leases
    # Remembers when this process first saw each lease. After a lease's ttl its holder has timed out. This needs no
    # further request to the server and no other machine's clock. The table is bounded; a forgotten lease counts as new.
    #
    # @private
    class FirstSeen
      MAX = 1_000
      private_constant :MAX

      def initialize
        @mutex = Mutex.new
        @times = {}
      end

      # @param lease_name [String] identifies the lease: lineage, holder and expiry
      # @return [Float] a time of {Clock.monotonic}
      def at(lease_name)
        @mutex.synchronize do
          @times[lease_name] ||= begin
            @times.shift if @times.size >= MAX
            Clock.monotonic
          end
        end
      end
    end
  end
end
