# frozen_string_literal: true

require "redis-client"

require_relative "../../backend"

module Tiercel
  module Backends
    class Redis < Backend
      # Sets a key if it is absent, or reads it: the commands of one trip, and the meaning of their replies.
      module SetOrGet
        # For Redis 7 and later.
        module OneCommand
          # @return [Array<Array<String>>] commands
          def self.commands(key, bytes, milliseconds) = [["SET", key, bytes, "NX", "GET", "PX", milliseconds]]

          # @param replies [Array<Object>] one for each command
          # @return [String, nil, Exception] the existing entry; nil if the key was set
          def self.reply((present)) = present
        end

        # For older servers, whose SET does not accept both NX and GET.
        module TwoCommands
          GONE = 0
          # @return [Array<Array<String>>] commands
          def self.commands(key, bytes, milliseconds)
            [["SET", key, bytes, "NX", "PX", milliseconds], ["GET", key]]
          end

          # @param replies [Array<Object>] one for each command
          # @return [String, nil, Exception, 0] the existing entry; nil if the key was set; 0 if the entry vanished in
          #   between
          def self.reply((set, present))
            set.is_a?(Exception) ? set : (present || GONE unless set)
          end
        end
      end
    end
  end
end
