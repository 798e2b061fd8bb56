# frozen_string_literal: true
# suites: store

require "test_helper"
require "digest"
require "prism"
require "tiercel/backends/memcached"
require "tiercel/backends/redis"
require "redis-cluster-client"

# Methods of other gems on whose internals Tiercel depends: it changes them, calls them although they are private, or
# relies on their behavior. This test fails if a new version changes one. Then read the change, check its effect at
# the place that the comment names, and add the new digest. Finally raise OptionalGems::NEWEST.
class MethodsOfOtherGemsTest < Tiercel::TestCase
  Tiercel::Backends::Redis::Deadline.driver(:ruby)
  Tiercel::Backends::Redis::Deadline.driver(:hiredis)

  # Gem => reason => method => digests of its source, one for each accepted version.
  KNOWN = {
    "redis-client" => {
      "redis/deadline.rb: Driver, for both connection classes" => {
        "RedisClient::ConnectionMixin#call" => %w[50839ef7e1cc],
        "RedisClient::ConnectionMixin#call_pipelined" => %w[72c200e1db9a c74e8e5086c6 f892befed13a],
        "RedisClient::RubyConnection#initialize" => %w[419513c43105],
        "RedisClient::RubyConnection#read" => %w[3f3a058b8444],
        "RedisClient::RubyConnection#write" => %w[c99b7a353929],
        "RedisClient::RubyConnection#write_multi" => %w[5bda155408eb],
        "RedisClient::RubyConnection#read_timeout=" => %w[21f100ea212b],
        "RedisClient::RubyConnection#write_timeout=" => %w[15f14ae7c109],
        "RedisClient::HiredisConnection#initialize" => %w[37582018e779],
        "RedisClient::HiredisConnection#read" => %w[f08cc7fd51f1],
        "RedisClient::HiredisConnection#write" => %w[9b2bd01e8dd3],
        "RedisClient::HiredisConnection#write_multi" => %w[422951644a0a],
        "RedisClient::HiredisConnection#read_timeout=" => %w[b51cf6ed63ed],
        "RedisClient::HiredisConnection#write_timeout=" => %w[2d605de3ab71],
      },
      "redis/deadline.rb: RubySockets and Waits" => {
        "RedisClient::RubyConnection#connect" => %w[107ed6504d9f b52c468693d4],
        # The digests of the definitions for Linux, macOS, other systems, and all remaining systems.
        "RedisClient::RubyConnection#enable_socket_keep_alive" =>
          %w[b811d899cd96 8705f6263db2 47bd7a312eef 29cb19948fb5],
        "RedisClient::RubyConnection::BufferedIO#initialize" => %w[ef44b62d1883],
        "RedisClient::RubyConnection::BufferedIO#write" => %w[18b6f4c9f890],
        "RedisClient::RubyConnection::BufferedIO#fill_buffer" => %w[d0b6f4b66eb4 d3be7f841e93],
      },
      "redis/deadline.rb: HiredisSockets" => {
        "RedisClient::HiredisConnection#connect" => %w[f265071540b0],
        "RedisClient::HiredisConnection#reconnect" => %w[568a3fd874c9],
      },
      "redis/deadline.rb: Certificates" => {
        "RedisClient::HiredisConnection.ssl_context" => %w[41ce479dfff9],
        "RedisClient::RubyConnection.ssl_context" => %w[32c7533266fc 3eaf85d4f527],
        "RedisClient::Config::Common#ssl_context" => %w[650074b5547e 4ca9a5c52c7f],
      },
      "redis/connection.rb" => {
        "RedisClient#disable_reconnection" => %w[4b30a6716dfe],
        "RedisClient#connect" => %w[b3df807674c9 a72510c23b63],
        "RedisClient::SentinelConfig#reset" => %w[102c3cf7b363],
      },
      "redis/sentinels.rb" => {
        "RedisClient::SentinelConfig#each_sentinel" => %w[095c020f8c33],
        "RedisClient::SentinelConfig#sentinel_client" => %w[b168d7fe1c74],
        "RedisClient::SentinelConfig#check_role!" => %w[2a0e06f10253 c9c6d58beb63],
      },
      "redis/address.rb: sentinel_tls" => {
        "RedisClient::SentinelConfig#initialize" => %w[390a7d006db8],
        "RedisClient::SentinelConfig#sentinels_to_configs" => %w[f4c41ed2d1e8],
      },
    },
    "redis-cluster-client" => {
      "redis/node_share.rb" => {
        "RedisClient::ConnectionMixin#call_pipelined_aware_of_redirection" => %w[9450f193626c],
        "RedisClient::Cluster::Router#handle_redirection" => %w[9d94d1c687c7 1620df333359],
        "RedisClient::Cluster::ErrorIdentification.client_owns_error?" => %w[100b7b9dec8e],
      },
      "redis/cluster.rb" => {
        "RedisClient::Cluster::Pipeline#execute" => %w[135f32098ada 2556fdaae526 0b84c7bc63da],
        "RedisClient::ClusterConfig#client_config_for_node" => %w[bb666dcd91b3],
      },
      "redis.rb: each_page" => { "RedisClient::Cluster::Router#scan" => %w[144501ffe066 64a4167a3c62 c432f0d4ec8f] },
    },
  }.freeze

  KNOWN.each do |gem, reasons|
    define_method(:"test_#{gem}") do
      changed = reasons.flat_map do |where, methods|
        methods.reject { |name, digests| digests.include?(digest(name)) }.keys
               .map { |name| "#{name}, on which #{where} rests: #{digest(name)}" }
      end
      assert_empty changed, "#{gem} #{Gem.loaded_specs[gem].version}"
    end
  end

  # The first 12 digits of the SHA-256 of the method's source.
  def digest(name)
    place, separator, method = name.rpartition(/[#.](?=[^#.]+\z)/)
    owner = Object.const_get(place)
    found = separator == "#" ? owner.instance_method(method) : owner.method(method)
    file, line = found.source_location
    Digest::SHA256.hexdigest(definition(file, line))[0, 12]
  rescue NameError => error
    error.message
  end

  def definition(file, line)
    pending = [Prism.parse_file(file).value]
    until (node = pending.shift).is_a?(Prism::DefNode) && node.location.start_line == line
      pending.concat(node.compact_child_nodes)
    end
    node.slice
  end
end
