# frozen_string_literal: true

module Tiercel
  module Lab
    module Network
      # What a proxy does to what passes through it.
      #
      # - `delay`: seconds added to a round trip, half of them each way
      # - `bytes_per_second`: of each connection, each way; nil for no cap
      # - `hold`: replies are kept back (and sent when it ends)
      # - `garble`: each byte of a reply becomes another one
      # - `cut_after`: a connection is closed after so many more bytes of replies; nil for never
      # - `refuse`: new connections are closed at once
      Conditions = Data.define(:delay, :bytes_per_second, :hold, :garble, :cut_after, :refuse) do
        # @raise [ArgumentError] for a number that is none, or is negative
        def initialize(delay: 0.0, bytes_per_second: nil, hold: false, garble: false, cut_after: nil, refuse: false)
          check(:delay, delay, delay.is_a?(Numeric) && delay >= 0, "seconds >= 0")
          check(:bytes_per_second, bytes_per_second, nil_or(bytes_per_second, &:positive?), "a number > 0 or nil")
          check(:cut_after, cut_after, nil_or(cut_after) { |bytes| bytes >= 0 }, "a number of bytes >= 0 or nil")
          super
        end

        private

        def nil_or(value) = value.nil? || (value.is_a?(Numeric) && yield(value))

        def check(name, value, valid, expected)
          raise ArgumentError, "#{name}: expected #{expected}, got #{value.inspect}" unless valid
        end
      end
    end
  end
end
