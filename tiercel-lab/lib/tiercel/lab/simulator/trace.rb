# frozen_string_literal: true

module Tiercel
  module Lab
    module Simulator
      # Requests in their order, and how much time lies between two of them.
      class Trace
        include Enumerable

        # @return [String] for tables and messages
        attr_reader :name
        # @return [Array<Request>]
        attr_reader :requests
        # @return [Float] seconds between two requests, on the trace's own clock
        attr_reader :seconds_per_request

        # @param requests [Array<Request>]
        # @param name [String]
        # @param seconds_per_request [Numeric] matters only for TTLs
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

        # @return [Boolean] whether what a request stores can expire
        def ttls? = @ttls.nil? ? (@ttls = requests.any?(&:ttl)) : @ttls

        # The size of a cache without a limit: for every key its largest value.
        #
        # @param charge [#call] (key, bytes) -> bytes charged, see {Charge}
        # @return [Integer] bytes
        def footprint_bytes(charge: Charge::VALUE)
          largest = Hash.new(0)
          requests.each { |request| largest[request.key] = request.bytes if request.bytes > largest[request.key] }
          largest.sum { |key, bytes| charge.call(key, bytes) }
        end

        # @return [String] short, for messages
        def inspect = "#<#{self.class.name} #{name}, #{size} requests>"
      end
    end
  end
end
