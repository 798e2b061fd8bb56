# frozen_string_literal: true

require "redis-client"

require_relative "../../backend"

module Tiercel
  module Backends
    class Redis < Backend
      # How a key is set where nothing is under it, and read where something is: commands of one trip, and what their
      # replies say.
      module SetOrGet
        # From Redis 7 on.
        module AtOnce
          # @return [Array<Array<String>>] commands
          def self.commands(key, bytes, milliseconds) = [["SET", key, bytes, "NX", "GET", "PX", milliseconds]]

          # @param replies [Array<Object>] one for each command
          # @return [String, nil, Exception] what is there, nil if it was set
          def self.reply((present)) = present
        end

        # Before, SET has no GET beside NX.
        module InTwo
          GONE = 0
          # @return [Array<Array<String>>] commands
          def self.commands(key, bytes, milliseconds)
            [["SET", key, bytes, "NX", "PX", milliseconds], ["GET", key]]
          end

          # @param replies [Array<Object>] one for each command
          # @return [String, nil, Exception, 0] what is there, nil if it was set, 0 if that has gone since
          def self.reply((set, present))
            set.is_a?(Exception) ? set : (present || GONE unless set)
          end
        end
      end
    end
  end
end
