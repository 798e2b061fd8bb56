# frozen_string_literal: true

require_relative "conditions"
require_relative "lane"

module Tiercel
  module Lab
    module Network
      # A connection through the relay: its two lanes and its conditions.
      class Route
        # Number of a client's first bytes that the route remembers.
        SAID_BYTES = 4_096
        # The conditions of connections that `only` does not select.
        PLAIN = Conditions.new

        # @return [Lane]
        attr_reader :requests, :replies

        # @param client [IO]
        # @param server [IO]
        # @param conditions [Conditions]
        def initialize(client, server, conditions)
          @requests = Lane.new(client, server)
          @replies = Lane.new(server, client)
          @said = +"".b
          @asking = false
          adopt(conditions)
        end

        # @return [Array<Lane>]
        def lanes = [requests, replies]

        # @return [Array<Lane>] the lanes that are not held
        def open_lanes
          open = []
          open << requests unless conditions.hold_requests?
          open << replies unless conditions.hold_replies?
          open
        end

        # @param text [String, nil] text in lower case; nil: any
        # @return [Boolean] whether the client has sent it
        def said?(text) = text.nil? || @said.include?(text)

        # @return [Conditions] the conditions of this connection
        def conditions = said?(@conditions.only) ? @conditions : PLAIN

        # @param conditions [Conditions] the new ones
        # @return [void]
        def adopt(conditions)
          @conditions = conditions
          @cut_at = conditions.cut_after && (replies.sent_bytes + conditions.cut_after)
        end

        # Reads from one side.
        #
        # @param lane [Lane]
        # @param now [Float]
        # @return [Array(Integer, Boolean)] number of bytes, and whether they begin a round trip
        def take(lane, now)
          asks = lane.equal?(requests)
          bytes = lane.take(now, conditions.delay / 2.0, conditions.bytes_per_second) { |text| heard(text) if asks }
          return [0, false] if bytes.zero?
          begins = asks && !@asking
          @asking = asks
          [bytes, begins]
        end

        # Sends the bytes that are due, both ways.
        #
        # @param now [Float]
        # @return [void]
        # @raise [SystemCallError, IOError] if the server is gone
        def give(now)
          requests.give(now) unless conditions.hold_requests?
          give_replies(now) unless conditions.hold_replies?
        end

        # @return [Boolean] whether both lanes have ended; held requests do not count as ended
        def over?
          return true if requests.over? || cut?
          replies.over? && !requests.waiting?
        end

        # @return [void]
        def close = [requests.source, replies.source].each(&:close)

        private

        def heard(text)
          @said << text.byteslice(0, SAID_BYTES - @said.bytesize).downcase if @said.bytesize < SAID_BYTES
        end

        def give_replies(now)
          limit = cut_at && (cut_at - replies.sent_bytes)
          garble = method(:garbled) if conditions.garble
          replies.give(now, limit, &garble)
        rescue SystemCallError, IOError
          raise unless requests.waiting? # a client's last bytes may still be in the connection
          replies.abandon
        end

        def cut_at = conditions.cut_after && @cut_at

        def cut? = !cut_at.nil? && replies.sent_bytes >= cut_at

        # Changes every byte, and none of them to a digit or a line end.
        def garbled(bytes) = bytes.bytes.map { |byte| ((byte ^ 0x5A) | 0x80).chr }.join.b
      end
    end
  end
end
