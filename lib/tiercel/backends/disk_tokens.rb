# frozen_string_literal: true

require_relative "../forks"

module Tiercel
  module Backends
    # Tokens for `compare_and_set`: a random start for each process, and one
    # more for each write, so that none comes twice. 62 bits: an immediate
    # Integer in Ruby, 8 bytes on disk.
    class DiskTokens
      STARTS = 2**61

      # @return [Integer]
      def next
        unless Forks.current?(@process)
          # The start before the process: another thread must never count on from the parent's, or from nothing.
          @last = Random.urandom(8).unpack1("Q") % STARTS
          @process = Forks.current
        end
        @last += 1
      end
    end
  end
end
