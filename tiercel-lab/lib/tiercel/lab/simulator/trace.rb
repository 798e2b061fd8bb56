# frozen_string_literal: true

module Tiercel
  module Lab
    module Simulator
      # An ordered list of requests, and the time between two of them.
      class Trace
        include Enumerable

        # @return [String] name for tables and messages
        attr_reader :name
        # @return [Array<Request>]
        attr_reader :requests
        # @return [Float] seconds between two requests, on the trace's own clock
        attr_reader :seconds_per_request

        # @param requests [Array<Request>]
        # @param name [String]
        # @param seconds_per_request [Numeric] affects only TTLs
        def initialize(requests, name: "trace", seconds_per_request: 0.001)
          @requests = requests
          @name = name
          @seconds_per_request = Float(seconds_per_request)
        end

        # @yieldparam request [Request]
        # @return [Enumerator, self] an Enumerator without a block
        def each(&block)
          return requests.each unless block
          requests.each(&block)
          self
        end

        # @return [Integer] number of requests
        def size = requests.size

        # @return [Boolean] whether any stored value expires
        def ttls? = @ttls.nil? ? (@ttls = requests.any?(&:ttl)) : @ttls

        # The size of an unlimited cache: the largest value of every key.
        #
        # @param weigher [#call] (key, bytes) -> share of the capacity, see {Weigher}
        # @return [Integer] bytes
        def footprint_bytes(weigher: Weigher::VALUE)
          largest = Hash.new(0)
          requests.each { |request| largest[request.key] = request.bytes if request.bytes > largest[request.key] }
          largest.sum { |key, bytes| weigher.call(key, bytes) }
        end

        # @return [String] short, for messages
        def inspect = "#<#{self.class.name} #{name}, #{size} requests>"
      end
    end
  end
end
