# frozen_string_literal: true

require "dalli"
require "zlib"

require_relative "../../backend"

module Tiercel
  module Backends
    class Memcached < Backend
      # Which server has a key. The points on the circle are Dalli's, so the
      # entries that Rails' MemCacheStore left on a ring are found where they
      # are. There is no failover: a key of a dead server is a miss, not an
      # older value on another one.
      class Ring
        # @return [Array<Node>] in the order given
        attr_reader :nodes

        # @param servers [Array<String>] "HOST:PORT:WEIGHT" or paths, as Dalli takes them
        # @yieldparam server [Dalli::Protocol::Meta] what Dalli made of one
        # @yieldreturn [Node]
        def initialize(servers, &node)
          ring = Dalli::Ring.new(servers, failover: false, threadsafe: false, raw: true)
          by_server = ring.servers.to_h { |server| [server, node.call(server)] }
          @nodes = by_server.values
          return unless ring.continuum
          @points = ring.continuum.map(&:value)
          @nodes_at = ring.continuum.map { |entry| by_server.fetch(entry.server) }
        end

        # @param wire_key [String]
        # @return [Node] that of the last point at or before the key's CRC-32
        def node_for(wire_key)
          return @nodes.first unless @points
          hash = Zlib.crc32(wire_key)
          after = @points.bsearch_index { |point| point > hash } || @points.size
          @nodes_at[after - 1]
        end

        # @param wire_keys [Array<String>]
        # @return [Hash{Node => Array<Integer>}] positions in the Array, by server
        def group(wire_keys)
          return { @nodes.first => wire_keys.each_index.to_a } unless @points
          wire_keys.each_index.group_by { |index| node_for(wire_keys[index]) }
        end
      end
    end
  end
end
