# frozen_string_literal: true

require_relative "group"
require_relative "memcached"

module Tiercel
  module Lab
    module Servers
      # Several memcached servers, among which a client distributes its keys.
      class MemcachedRing < Group
        # @param count [Integer] number of servers
        # @param options see {Memcached#initialize}
        def initialize(count: 3, **options)
          super()
          @nodes = Array.new(count) { Memcached.new(**options) }
        end

        # @return [String] "memcached://HOST:PORT,HOST:PORT,..."
        def url = "memcached://#{addresses.join(",")}"

        # @return [Array<String>] "HOST:PORT" of the nodes, in order
        def addresses = nodes.map(&:address)
      end
    end
  end
end
