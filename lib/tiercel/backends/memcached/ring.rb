# frozen_string_literal: true

require "digest/sha1"
require "zlib"

# Maps keys to servers, by consistent hashing as in libmemcached's ketama: 160 points for each server, weighted,
# at the first 32 bits of the SHA-1 of "SERVER:INDEX". Dalli uses the same points, so a ring that Rails'
# MemCacheStore filled stays warm. There is no failover: a key of a dead server is a miss, never an older value on
# another server.
class Tiercel::Backends::Memcached::Ring
  POINTS_PER_SERVER = 160
  # "HOST:PORT:WEIGHT", "[ADDRESS]:PORT:WEIGHT" or "/PATH:WEIGHT".
  WEIGHTED = %r{\A(/.*|.*:\d+):(\d+)\z}
  DEFAULT_PORT = 11_211
  private_constant :POINTS_PER_SERVER, :WEIGHTED, :DEFAULT_PORT

  # A server of the ring. `port` is nil for a socket.
  Server = Struct.new(:host, :port, :weight) do
    # @param text [String] "HOST[:PORT[:WEIGHT]]" or "/PATH[:WEIGHT]"
    # @raise [ArgumentError]
    def self.parse(text)
      place, weight = text.match(WEIGHTED)&.captures || [text, 1]
      raise ArgumentError, "the weight of #{text} is #{weight}, expected at least 1" if weight.to_i < 1
      return new(place, nil, weight.to_i) if place.start_with?("/")
      host, port = Tiercel::BackendURL.host_and_port("memcached", place, DEFAULT_PORT)
      host ? new(host, port, weight.to_i) : raise(ArgumentError, "cannot read #{text.inspect}")
    end

    # @return [String] the name that its points are made of
    def name = port ? "#{host}:#{port}" : host
  end

  # @return [Array<Node>] in the configured order
  attr_reader :nodes

  # @param servers [Array<String>] see {Server.parse}
  # @yieldparam server [Server]
  # @yieldreturn [Node]
  def initialize(servers, &node)
    servers = servers.map { |text| Server.parse(text) }
    @nodes = servers.map(&node)
    return if servers.size < 2
    total = servers.sum(&:weight).to_f
    points = servers.zip(@nodes).flat_map do |server, its_node|
      Array.new((servers.size * POINTS_PER_SERVER * server.weight / total).floor) do |index|
        [Digest::SHA1.hexdigest("#{server.name}:#{index}")[0, 8].to_i(16), its_node]
      end
    end
    @points, @nodes_at = points.sort_by(&:first).transpose
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
