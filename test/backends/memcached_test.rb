# frozen_string_literal: true
# suites: store

require "test_helper"
require "tiercel/backends/memcached"
require "tiercel/contracts/backend_contract"
require "tiercel/lab/servers"

# One memcached for all the tests of this file; each test clears it.
module MemcachedServer
  def self.server = @server ||= Tiercel::Lab::Servers::Memcached.new.start
  def self.ring = @ring ||= Array.new(3) { Tiercel::Lab::Servers::Memcached.new.start }
end

class MemcachedTest < Tiercel::TestCase
  include Tiercel::Contracts::BackendContract

  def build_peer = Tiercel::Backends::Memcached.build(Tiercel::BackendURL.parse(MemcachedServer.server.url), {})
  def build_backend = build_peer.tap(&:clear)
end
