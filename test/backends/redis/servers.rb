# frozen_string_literal: true

require "tiercel"
require "tiercel/lab/servers"

# Servers shared by all tests of the backend; each test clears them.
module RedisServers
  Servers = Tiercel::Lab::Servers

  def self.single = @single ||= Servers::Redis.new.start
  def self.socket = @socket ||= Servers::Redis.new(socket: true).start
  def self.without_scripts = @without_scripts ||= Servers::Redis.new(without: %w[EVAL EVALSHA]).start
  def self.cluster = @cluster ||= Servers::RedisCluster.new.start

  # Eight concurrent processes with new clients can exceed the default timeout on a loaded machine.
  def self.build(url, **options)
    Tiercel::Backends::Redis.build(Tiercel::BackendURL.parse(url), { timeout: 20, **options })
  end
end
