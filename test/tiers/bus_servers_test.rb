# frozen_string_literal: true
# suites: store

require "test_helper"
require "support/machines"

# The bus over more complex servers: TLS, a failover of the master, and servers without the required features.
class TiersBusServersTest < Tiercel::TestCase
  include Machines

  def test_tls_and_a_password
    Tiercel::Lab::Servers::Redis.run(tls: true, password: "secret") do |server|
      store = listening(machine(:one, url: server.url, ssl_params: { ca_file: server.certificate.file }))
      store.write("key", "value")
      near(store, "key", "value")
      store.backend.last.delete("key")
      wait_until("a delete to be seen") { store.read("key").nil? }
      refused = Thread::Queue.new
      distrusted = machine(:two, url: server.url, error_handler: ->(method:, **) { refused << method })
      distrusted.read("key")
      wait_until("the listener's report") { refused.pop == :listen }
      refute coverage(distrusted).trusted?
    end
  end

  def test_a_master_that_fails_over
    Tiercel::Lab::Servers::RedisSentinel.run do |sentinel|
      store = listening(machine(:one, url: "redis://#{sentinel.name}/0", sentinels: sentinel.address, breaker: false,
                                      error_handler: ->(**) {}))
      store.write("key", "old")
      near(store, "key", "old")
      sentinel.fail_over
      wait_until("the listener to follow", within: 30) { gaps(store) == 2 && coverage(store).trusted? }
      other = machine(:two, url: sentinel.replica.url)
      other.write("key", "new")
      wait_until("the new master's value") { store.read("key") == "new" }
      near(store, "key", "new")
      other.delete("key")
      wait_until("the new master to be heard") { store.read("key").nil? }
    end
  end

  # The old master acts as a master for 10 more seconds, and clients with older connections still use it.
  def test_a_master_that_was_stopped_while_its_replica_took_its_place
    skip "waits for a failover: --long" unless long?
    Tiercel::Lab::Servers::RedisSentinel.run do |sentinel|
      store = listening(machine(:one, url: "redis://#{sentinel.name}/0", sentinels: sentinel.address, breaker: false,
                                      error_handler: ->(**) {}))
      store.write("key", "old")
      near(store, "key", "old")
      sentinel.master.pause
      wait_until("the listener to follow", within: 30) { gaps(store) == 2 && coverage(store).trusted? }
      wait_until("the connections to follow") { store.backend.near.bus.before_fill.empty? }
      sentinel.replica.command("DEL", "key")
      machine(:two, url: sentinel.replica.url).write("key", "new")
      sentinel.master.resume
      assert_equal "new", store.read("key")
      near(store, "key", "new")
    end
  end
end
