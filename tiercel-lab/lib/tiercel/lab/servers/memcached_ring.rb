# frozen_string_literal: true

require_relative "memcached"

module Tiercel
  module Lab
    module Servers
      # Several memcacheds that a client spreads its keys over.
      class MemcachedRing
        # @return [Array<Memcached>] in the order of the URL
        attr_reader :nodes

        # @return [Object] the block's value; the servers are stopped after it
        def self.run(**options)
          ring = new(**options).start
          yield ring
        ensure
          ring&.stop
        end

        # @param count [Integer] how many
        # @param options see {Memcached#initialize}
        def initialize(count: 3, **options)
          @nodes = Array.new(count) { Memcached.new(**options) }
        end

        # @return [self]
        # @raise [Error] if one of them does not start; the others are stopped then
        def start
          nodes.each(&:start)
          self
        rescue Error
          stop
          raise
        end

        # @return [self]
        def stop = each_node(:stop)

        # @return [self]
        def kill = each_node(:kill)

        # @return [self]
        def restart = each_node(:restart)

        # @return [self]
        def pause = each_node(:pause)

        # @return [self]
        def resume = each_node(:resume)

        # @return [Array<Integer, nil>] of the nodes, in order
        def pids = nodes.map(&:pid)

        # @return [Array<Integer>] of the nodes, in order
        def ports = nodes.map(&:port)

        # @return [String] as the servers say it
        def version = nodes.first.version

        # @return [String] "memcached://HOST:PORT,HOST:PORT,..."
        def url = "memcached://#{addresses.join(",")}"

        # @return [Array<String>] "HOST:PORT" of the nodes, in order
        def addresses = nodes.map(&:address)

        private

        def each_node(action)
          nodes.each(&action)
          self
        end
      end
    end
  end
end
