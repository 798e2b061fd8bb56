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

  DRIVERS = %w[hiredis ruby].freeze

  CALLS = { set_multi: ->(backend) { backend.set_multi({ "a" => "1", "b" => "2" }) },
            get_or_occupy: ->(backend) { backend.get_or_occupy("absent#{rand}", "lease") },
            occupy_multi: ->(backend) { backend.occupy_multi({ "other" => "lease" }) } }.freeze

  DRIVERS.each do |driver|
    define_method(:"test_a_dead_and_a_hung_sentinel_with_#{driver}") do
      RedisServers::Servers::RedisSentinel.run do |sentinel|
        with_full_queue do |hung|
          [1, hung].each do |other|
            sentinels = ["127.0.0.1:#{other}", sentinel.address]
            backend = RedisServers.build("redis://#{sentinel.name}/0", sentinels:, driver:, timeout: 0.25)
            wait_until("an answer of the second Sentinel") { stored?(backend) }
          ensure
            backend&.close
          end
        end
      end
    end

    # The connections to the former master stay open, and a pipeline does not raise the refusals among its replies.
    define_method(:"test_a_master_that_becomes_a_replica_with_#{driver}") do
      servers = Array.new(2) { RedisServers::Servers::Redis.new.start }
      master = servers.first
      proxy = MovingProxy.new { master.port }
      backend = RedisServers.build(proxy.url, driver:)
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
  end

  # redis-client would sleep for the whole budget before it refuses the server.
  def test_a_server_of_another_role_is_refused_at_once
    url = Tiercel::BackendURL.parse("redis://name/0")
    config = Tiercel::Backends::Redis::Address.new(url, { sentinels: "127.0.0.1:1" }, 1).config
    assert_raises(RedisClient::FailoverError) { Timeout.timeout(0.2) { config.check_role!("slave") } }
  end

  def test_sentinels_with_ipv6_addresses
    { "[::1]:7000" => ["::1", 7000], "[::1]" => ["::1", 26_379], "rediss://[::1]:7000" => ["::1", 7000],
      "a:7000" => ["a", 7000], "a" => ["a", 26_379] }.each do |text, place|
      url = Tiercel::BackendURL.parse("redis://name/0")
      config = Tiercel::Backends::Redis::Address.new(url, { sentinels: text }, 1).config
      assert_equal [place], config.sentinels.map { |sentinel| [sentinel.host, sentinel.port] }
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
