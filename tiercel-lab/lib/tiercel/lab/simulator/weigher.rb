# frozen_string_literal: true

module Tiercel
  module Lab
    module Simulator
      # A weigher returns how much of a policy's capacity an entry takes. Any object with `call(key, bytes)` is one.
      module Weigher
        # The size of the value alone.
        VALUE = ->(_key, bytes) { bytes }

        # Every entry weighs one, so the capacity is a number of entries.
        ENTRY = ->(_key, _bytes) { 1 }

        # A record of a log: header, key and value, rounded up to a multiple.
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
