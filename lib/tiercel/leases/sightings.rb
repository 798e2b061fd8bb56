# frozen_string_literal: true

require_relative "../clock"

module Tiercel
  class Leases
    # When this process saw a holder for the first time: what tells, without asking a server for more, that a holder has
    # had its time. Bounded; what is forgotten counts as new.
    #
    # @private
    class Sightings
      MAX = 1_000
      private_constant :MAX

      def initialize
        @mutex = Mutex.new
        @first = {}
      end

      # @param holder [String]
      # @return [Float] of {Clock.monotonic}
      def first(holder)
        @mutex.synchronize do
          @first.shift if @first.size >= MAX
          @first[holder] ||= Clock.monotonic
        end
      end
    end
  end
end
