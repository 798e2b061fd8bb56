# frozen_string_literal: true

require_relative "../../backend"

module Tiercel
  module Backends
    class Memcached < Backend
      # Numbers the connections of this process.
      module Openings
        # Precedes the number in a request. It has the form of a memcached flag.
        FLAG = " o"
        @lock = Mutex.new
        @count = 0
        @mark = "#{FLAG}0".freeze

        class << self
          # @return [String] flag and number of the newest connection
          attr_reader :mark
        end

        # @return [Integer] the number for a connection that was just opened
        def self.next
          @lock.synchronize do
            @count += 1
            @mark = "#{FLAG}#{@count}".freeze
            @count
          end
        end
      end
    end
  end
end
