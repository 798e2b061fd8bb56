# frozen_string_literal: true

require_relative "../clock"

module Tiercel
  class Leases
    # Remembers when this process first saw each lease. After a lease's ttl its holder has timed out, without a
    # further request to the server and whatever other clocks say. The table is bounded; a forgotten lease counts as
    # new.
    #
    # @private
    class Sightings
      MAX = 1_000
      private_constant :MAX

      def initialize
        @mutex = Mutex.new
        @first = {}
      end

      # @param take [String] identifies the lease
      # @return [Float] a time of {Clock.monotonic}
      def first(take)
        @mutex.synchronize do
          @first[take] ||= begin
            @first.shift if @first.size >= MAX
            Clock.monotonic
          end
        end
      end
    end
  end
end
