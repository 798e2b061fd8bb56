# frozen_string_literal: true

require_relative "../../backend"
require_relative "../remote/connection"

module Tiercel
  module Backends
    class Memcached < Backend
      # A connection with a number, which {Token}s need.
      class Connection < Remote::Connection
        # Precedes a number in {mark}. It has the form of a memcached flag.
        FLAG = " o"

        @lock = Mutex.new
        @count = 0
        @mark = "#{FLAG}0".freeze

        class << self
          # @return [String] {FLAG} and the number of this process' newest connection
          attr_reader :mark

          # @return [Integer] the number for a connection that was just opened
          def next_number
            @lock.synchronize do
              @count += 1
              @mark = "#{FLAG}#{@count}".freeze
              @count
            end
          end
        end

        # @return [Integer] counts the connections of this process
        attr_reader :number
        # @return [String] {.mark} from before the current call's first request
        attr_reader :mark

        def open(deadline, verify: false)
          fresh = super
          @number = Connection.next_number if fresh
          @mark = Connection.mark
          fresh
        end
      end
    end
  end
end
