# frozen_string_literal: true

require "dalli"
require "zlib"

require_relative "../../backend"

module Tiercel
  module Backends
    class Memcached < Backend
      # Maps keys to servers. The points on the circle are Dalli's, so entries that Rails' MemCacheStore left on a
      # ring are found. There is no failover: a key of a dead server is a miss, never an older value on another
      # server.
      class Ring
        # @return [Array<Node>] in the configured order
        attr_reader :nodes

        # @param servers [Array<String>] "HOST:PORT:WEIGHT" or paths, in Dalli's form
        # @yieldparam server [Dalli::Protocol::Meta] Dalli's representation of one server
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
        # @return [Node] the node of the last point at or before the key's CRC-32
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
