# frozen_string_literal: true

module Tiercel
  module Lab
    module Network
      # The directions that a proxy can hold back.
      HELD = %w[replies requests both].freeze

      # The effects of a proxy on its traffic:
      #
      # - `delay`: seconds added to a round trip, half of them each way
      # - `bytes_per_second`: limit of each connection, each way; nil: none
      # - `hold`: the messages that the proxy delays until the hold ends: :replies (or true), :requests, :both, or
      #   false. It then sends everything in the order of each connection. It keeps up to 4 MB each way; then the sender
      #   waits. Requests reach the server even if their client has disconnected in the meantime
      # - `garble`: changes every byte of the replies
      # - `cut_after`: number of bytes of replies after which a connection is closed; nil: never
      # - `refuse`: closes new connections at once
      # - `only`: limits all this to connections whose client has sent this text within its first 4 KB, in upper or
      #   lower case, such as "subscribe" or "tracking". With `refuse`, such a connection is closed once it sends the
      #   text. nil: all connections
      Conditions = Data.define(:delay, :bytes_per_second, :hold, :garble, :cut_after, :refuse, :only) do
        # @raise [ArgumentError] for an invalid or negative number
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
