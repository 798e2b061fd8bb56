# frozen_string_literal: true

require_relative "../forks"

module Tiercel
  module Backends
    # Tokens for `compare_and_set`: a random start for each process, incremented with each write, so that no token
    # repeats. They have 62 bits: an immediate Integer in Ruby, 8 bytes on disk.
    class DiskTokens
      STARTS = 2**61

      # @return [Integer]
      def next
        unless @process == Forks.current
          # Assigned before @process: another thread must never continue the parent's sequence or start from nil.
          @last = Random.urandom(8).unpack1("Q") % STARTS
          @process = Forks.current
        end
        @last += 1
      end
    end
  end
end
