# frozen_string_literal: true

module Tiercel
  module Lab
    module Simulator
      # The share of a policy's capacity that one entry takes: anything that answers to
      # `call(key, bytes)` with bytes.
      module Charge
        # The value's bytes alone.
        VALUE = ->(_key, bytes) { bytes }

        # Every entry costs one: capacity is then a number of entries.
        ENTRY = ->(_key, _bytes) { 1 }

        # A log's record: header, key and value, rounded up to a multiple.
        #
        # @param header_bytes [Integer]
        # @param multiple [Integer] bytes
        # @return [Proc]
        def self.record(header_bytes:, multiple:)
          lambda do |key, bytes|
            total = header_bytes + key.bytesize + bytes
            total + (-total % multiple)
          end
        end
      end
    end
  end
end
