# frozen_string_literal: true

require_relative "../../backend"

module Tiercel
  class Tiers < Backend
    class Bus
      # A key that one process of a machine changes in the last tier, and of which all its listeners are told, after
      # everything that was changed before. Its name says which segment it is for, and when it was sent.
      #
      # @private
      module Heartbeat
        PREFIX = "tiercel:heartbeat:"
        # Changed so often (seconds), by one of the machine's processes.
        INTERVAL_SECONDS = 1.0
        BASE = 36
        # Of a number below 2^63.
        DIGITS = /\A\d{1,18}\z/
        private_constant :BASE, :DIGITS

        class << self
          # @param segment_id [Integer] {Segment}'s file id
          # @param sent [Integer] nanoseconds of the monotonic clock
          # @return [String]
          def key(segment_id, sent) = "#{PREFIX}#{segment_id.to_s(BASE)}:#{sent}"

          # @param key [String]
          # @return [Boolean] whether it is one, of whatever machine
          def heartbeat?(key) = key.start_with?(PREFIX)

          # @param key [String] one
          # @param segment_id [Integer]
          # @return [Integer, nil] nanoseconds when it was sent; nil if it is for another segment
          def sent(key, segment_id)
            own = "#{PREFIX}#{segment_id.to_s(BASE)}:"
            sent = key.byteslice(own.bytesize..) if key.start_with?(own)
            sent.to_i if DIGITS.match?(sent&.b)
          end
        end
      end
    end
  end
end
