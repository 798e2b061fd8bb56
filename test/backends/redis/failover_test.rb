# frozen_string_literal: true
# suites: store

require "test_helper"
require "support/moving_proxy"
require "support/unanswering_ports"
require "timeout"
require_relative "servers"

# The address, or the Sentinels, name another master than before.
class RedisFailoverTest < Tiercel::TestCase
  include UnansweringPorts

  CALLS = { set_multi: ->(backend) { backend.set_multi({ "a" => "1", "b" => "2" }) },
            compare_exchange_multi: ->(backend) { backend.compare_exchange_multi({ "other" => "lease" }) } }.freeze

  def test_a_dead_and_a_hung_sentinel
    RedisServers::Servers::RedisSentinel.run do |sentinel|
      with_full_queue do |hung|
        [1, hung].each do |other|
          sentinels = ["127.0.0.1:#{other}", sentinel.address]
          backend = RedisServers.build("redis://#{sentinel.name}/0", sentinels:, timeout: 0.25)
          wait_until("an answer of the second Sentinel") { stored?(backend) }
        ensure
          backend&.close
        end
      end
    end
  end

  # The connections to the former master stay open, and a pipeline does not raise the refusals among its replies.
  def test_a_master_that_becomes_a_replica
    servers = Array.new(2) { RedisServers::Servers::Redis.new.start }
    master = servers.first
    proxy = MovingProxy.new { master.port }
    backend = RedisServers.build(proxy.url)
    CALLS.each do |name, call|
      call.call(backend)
      former, master = master, (servers - [master]).first
      master.command("REPLICAOF", "NO", "ONE")
      master.command("FLUSHALL")
      former.command("REPLICAOF", "127.0.0.1", "1")
      wait_until("#{name} on the new master") { changes?(master) { call.call(backend) } }
    end
  ensure
    backend&.close
    proxy&.stop
    servers&.each(&:stop)
  end

  # The Sentinel has not noticed yet that its master has become a replica.
  def test_a_server_of_another_role_is_refused_at_once
    RedisServers::Servers::RedisSentinel.run do |sentinel|
      backend = RedisServers.build("redis://#{sentinel.name}/0", sentinels: sentinel.address, timeout: 120)
      sentinel.master.command("REPLICAOF", "127.0.0.1", "1")
      error = Timeout.timeout(60) { assert_raises(Tiercel::Unavailable) { backend.get("key") } }
      assert_match(/expected the master, and its role is "slave"/, error.message)
    ensure
      backend&.close
    end
  end

  def test_sentinels_with_ipv6_addresses
    { "[::1]:7000" => ["::1", 7000, false], "[::1]" => ["::1", 26_379, false], "rediss://[::1]:7" => ["::1", 7, true],
      "a:7000" => ["a", 7000, false], "a" => ["a", 26_379, false] }.each do |text, place|
      url = Tiercel::BackendURL.parse("redis://name/0")
      address = Tiercel::Backends::Redis::Address.new(url, { sentinels: text })
      assert_equal [place], address.sentinels.places, text
    end
  end

  private

  def stored?(backend)
    backend.set("key", "value")
  rescue Tiercel::BackendError
    false
  end

  def changes?(server)
    yield
  rescue Tiercel::Refused
    false
  else
    server.command("DBSIZE").to_i.positive?
  end
end
