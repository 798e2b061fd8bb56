# frozen_string_literal: true
# suites: store

require "test_helper"
require "tiercel/backends/redis"
require "tiercel/contracts/backend_contract"
require "tiercel/lab/servers"

# One server of each kind for all the tests of this file; each test clears it.
module RedisServers
  Servers = Tiercel::Lab::Servers

  def self.single = @single ||= Servers::Redis.new.start
  def self.socket = @socket ||= Servers::Redis.new(socket: true).start
  def self.cluster = @cluster ||= Servers::RedisCluster.new.start
end

class RedisTest < Tiercel::TestCase
  include Tiercel::Contracts::BackendContract

  def build_peer = Tiercel::Backends::Redis.build(Tiercel::BackendURL.parse(RedisServers.single.url), {})
  def build_backend = build_peer.tap(&:clear)
end

class RedisClusterTest < Tiercel::TestCase
  include Tiercel::Contracts::BackendContract

  def build_peer = Tiercel::Backends::Redis.build(Tiercel::BackendURL.parse(RedisServers.cluster.url), {})
  def build_backend = build_peer.tap(&:clear)
end
