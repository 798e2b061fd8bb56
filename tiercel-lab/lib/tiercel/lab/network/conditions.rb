# frozen_string_literal: true

module Tiercel
  module Lab
    module Network
      # The directions that a proxy can hold back.
      HELD = %w[replies requests both].freeze

      # The effects of a proxy on its traffic.
      #
      # - `delay`: seconds added to a round trip, half of them each way
      # - `bytes_per_second`: of each connection, each way; nil for no cap
      # - `hold`: what is kept back, and sent in each connection's order when that ends: :replies (or true), :requests,
      #   or :both; false for nothing. Of each connection up to 4 MB each way; then its sender has to wait. Requests of
      #   a client that is gone meanwhile reach the server nevertheless, late.
      # - `garble`: each byte of a reply becomes another one
      # - `cut_after`: a connection is closed after so many more bytes of replies; nil for never
      # - `refuse`: new connections are closed at once
      # - `only`: all of this is done to those connections alone whose client has said this text, in whatever case, in
      #   its first 4 KB, such as "subscribe" or "tracking"; others pass. A connection that says it while connections
      #   are refused is closed then. nil for all connections.
      Conditions = Data.define(:delay, :bytes_per_second, :hold, :garble, :cut_after, :refuse, :only) do
        # @raise [ArgumentError] for a number that is none, or is negative
        def initialize(delay: 0.0, bytes_per_second: nil, hold: false, garble: false, cut_after: nil, refuse: false,
                       only: nil)
          check(:delay, delay, delay.is_a?(Numeric) && delay >= 0, "seconds >= 0")
          check(:bytes_per_second, bytes_per_second, nil_or(bytes_per_second, &:positive?), "a number > 0 or nil")
          check(:cut_after, cut_after, nil_or(cut_after) { |bytes| bytes >= 0 }, "a number of bytes >= 0 or nil")
          check(:hold, hold, [nil, true, false].include?(hold) || HELD.include?(hold.to_s),
                ":replies, :requests, :both or false")
          check(:only, only, only.nil? || (only.is_a?(String) && !only.empty?), "a text or nil")
          super(delay:, bytes_per_second:, hold: held(hold), garble:, cut_after:, refuse:, only: only&.downcase)
        end

        # @return [Boolean]
        def hold_replies? = %i[replies both].include?(hold)

        # @return [Boolean]
        def hold_requests? = %i[requests both].include?(hold)

        private

        def held(hold)
          hold == true ? :replies : hold && hold.to_sym
        end

        def nil_or(value) = value.nil? || (value.is_a?(Numeric) && yield(value))

        def check(name, value, valid, expected)
          raise ArgumentError, "#{name}: expected #{expected}, got #{value.inspect}" unless valid
        end
      end
    end
  end
end
