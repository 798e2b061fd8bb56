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
        private_constant :BASE

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
            id, sent, *others = key.delete_prefix(PREFIX).split(":")
            return unless id == segment_id.to_s(BASE) && others.empty?
            number = Integer(sent, 10, exception: false)
            number if number&.between?(0, (1 << 63) - 1)
          end
        end
      end
    end
  end
end
