# frozen_string_literal: true

require_relative "../clock"

module Tiercel
  class Leases
    # When this process saw a lease for the first time: what tells, without asking a server for more and whatever other
    # clocks say, that its holder has had its time. Bounded; what is forgotten counts as new.
    #
    # @private
    class Sightings
      MAX = 1_000
      private_constant :MAX

      def initialize
        @mutex = Mutex.new
        @first = {}
      end

      # @param take [String] names the lease
      # @return [Float] of {Clock.monotonic}
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
