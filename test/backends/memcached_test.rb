# frozen_string_literal: true
# suites: store

require "test_helper"
require "dalli"
require "contracts/backend_contract"
require "minitest/mock"
require "tiercel/lab/servers"

# Servers shared by all tests of this file; each test clears them.
module MemcachedServers
  def self.one = @one ||= Tiercel::Lab::Servers::Memcached.new.start
  def self.ring = @ring ||= Array.new(3) { Tiercel::Lab::Servers::Memcached.new.start }
  def self.socket = @socket ||= Tiercel::Lab::Servers::Memcached.new(socket: true).start
  def self.ring_url = "memcached://#{ring.map(&:address).join(",")}"

  def self.build(url, **options) = Tiercel::Backends::Memcached.build(Tiercel::BackendURL.parse(url), options)
end

class MemcachedTest < Tiercel::TestCase
  include Tiercel::Contracts::BackendContract

  # The contract is not about time: eight processes at once may need long on a slow machine.
  def build_peer = MemcachedServers.build(MemcachedServers.one.url, timeout: 20)
  def build_backend = build_peer.tap(&:clear)
end

class MemcachedRingTest < Tiercel::TestCase
  include Tiercel::Contracts::BackendContract

  def build_peer = MemcachedServers.build(MemcachedServers.ring_url, timeout: 20)
  def build_backend = build_peer.tap(&:clear)

  # The tests over one server cover TTLs; here TTLs only have to reach the server.
  def remote_later(seconds, &)
    return super if name.start_with?("test_an_entry_that_ended")
    skip "TTLs end by the clock of each server"
  end

  def test_keys_are_spread_over_the_servers
    backend.set_multi((0...300).to_h { |index| ["key#{index}", "x"] })
    shares = MemcachedServers.ring.map { |server| MemcachedServers.build(server.url, timeout: 20).stats[:entries] }
    assert(shares.all? { |entries| entries > 50 }, shares.inspect)
    assert_operator backend.stats[:entries], :>=, 300
  end

  # Looks for each key on the server where Dalli puts it, including weights.
  def test_the_ring_is_dallis
    weighted = MemcachedServers.ring.zip(["", ":3", ":2"]).map { |server, weight| "#{server.address}#{weight}" }
    ours = MemcachedServers.build("memcached://#{weighted.join(",")}", timeout: 20).tap(&:clear)
    dalli = Dalli::Client.new(weighted, raw: true, failover: false)
    200.times do |index|
      dalli.set("dalli#{index}", index.to_s)
      ours.set("ours#{index}", index.to_s)
    end
    200.times do |index|
      assert_equal index.to_s, ours.get("dalli#{index}")
      assert_equal index.to_s, dalli.get("ours#{index}")
    end
  ensure
    dalli&.close
    ours&.close
  end
end

class MemcachedDetailsTest < Tiercel::TestCase
  attr_reader :backend

  def setup = @backend = MemcachedServers.build(MemcachedServers.one.url, timeout: 20).tap(&:clear)

  def teardown = @backend.close

  def test_a_unix_socket
    over_socket = MemcachedServers.build(MemcachedServers.socket.url, timeout: 20)
    assert_equal true, over_socket.set("key", "value")
    assert_equal({ "key" => "value" }, over_socket.get_multi(["key"]))
  end

  def test_a_value_above_the_limit_is_refused_and_the_old_one_is_gone
    backend.set("key", "old")
    error = assert_raises(Tiercel::Refused) { backend.set("key", "x" * 2_000_000) }
    assert_match(/1\.9 MB.*-I/, error.message)
    assert_nil backend.get("key")
    backend.set("key", "old")
    assert_raises(Tiercel::Refused) { backend.set_multi({ "key" => "x" * 2_000_000, "small" => "1" }) }
    assert_equal({ "small" => "1" }, backend.get_multi(%w[key small]))
    assert_raises(Tiercel::Refused) { backend.add("key", "x" * 2_000_000) }
    assert_equal true, backend.set("key", "works")
  end

  # More data than the sockets buffer: responses must be read while the request is still being written.
  def test_large_batches_do_not_wait_for_each_other
    pairs = (0...400).to_h { |index| ["batch#{index}", Random.bytes(20_000)] }
    assert_equal true, backend.set_multi(pairs)
    assert_equal pairs.size, backend.get_multi(pairs.keys).count { |key, bytes| pairs[key] == bytes }
    missing = Array.new(20_000) { |index| "missing/#{index}/#{"k" * 100}" }
    assert_empty backend.get_multi(missing)
    assert_equal 400, backend.delete_multi(pairs.keys + missing)
  end

  def test_ttls_are_seconds_rounded_up
    ttl = ->(seconds) { backend.send(:wire_ttl, seconds) }
    assert_equal 0, ttl.call(nil)
    assert_equal 1, ttl.call(0.001)
    assert_equal 2, ttl.call(1.5)
    assert_equal 30 * 86_400, ttl.call(30 * 86_400)
    travel(86_400) do
      assert_in_delta Process.clock_gettime(Process::CLOCK_REALTIME) + (31 * 86_400), ttl.call(31 * 86_400), 60
    end
    assert_equal 0, ttl.call(100 * 366 * 86_400)
  end

  def test_a_counter_keeps_its_end_when_it_falls
    backend.increment("counter", 5, 60)
    backend.increment("counter", -1, 600)
    left = MemcachedServers.one.exchange("mg counter t v\r\n") { |io| [io.gets, io.gets] }
    assert_includes 1..60, left.first[/ t(\d+)/, 1].to_i
    assert_equal "4\r\n", left.last
  end

  # Another process writes between the two steps.
  def test_a_frame_that_changes_while_it_is_deleted_stays
    peer = MemcachedServers.build(MemcachedServers.one.url, timeout: 20)
    backend.set("key", "old")
    change = ->(_bytes) { peer.set("key", "new") }
    failed = Tiercel::Frame.stub(:replaceable?, change) { backend.delete_frames(["key"]) }
    assert_match(/changed while it was deleted/, failed.fetch("key").message)
    assert_equal "new", peer.get("key")
  ensure
    peer&.close
  end

  def test_a_counter_that_others_took_from
    backend.set("counter", "1000")
    MemcachedServers.one.exchange("ma counter MD D993\r\n", &:gets)
    assert_equal "7   ", backend.get("counter")
    assert_equal 5, backend.increment("counter", -2)
    assert_equal "5", backend.get("counter")
  end

  def test_a_number_above_the_signed_range_is_not_a_counter
    backend.set("key", (2**64 - 1).to_s)
    assert_raises(Tiercel::NotACounter) { backend.increment("key") }
    assert_equal (2**64 - 1).to_s, backend.get("key")
    backend.set("key", (2**63 - 10).to_s)
    assert_raises(Tiercel::NotACounter) { backend.increment("key", 2**31) }
    assert_equal (2**63 - 10).to_s, backend.get("key")
    assert_raises(Tiercel::NotACounter) { backend.increment("key", 2**64) }
  end

  def test_a_key_too_long_for_the_server_works_but_is_not_listed
    long = "ns:#{" " * 240}"
    backend.set(long, "value")
    backend.set("ns:other", "value")
    assert_equal "value", backend.get(long)
    assert_equal ["ns:other"], backend.scan("ns:").to_a
    backend.clear("ns:")
    assert_nil backend.get(long)
  end

  def test_urls
    names = {
      "memcached://10.0.0.1" => "memcached://10.0.0.1:11211",
      "memcached://a:1,b:2:3" => "memcached://a:1,b:2",
      "memcached:" => "memcached://127.0.0.1:11211",
      "memcached:/run/m.sock" => "memcached:/run/m.sock",
    }
    names.each { |url, name| assert_equal name, MemcachedServers.build(url).to_s }
  end

  def test_what_cannot_be_built
    ["memcached://user:secret@host", "memcached://host:port", "memcached://host:1:0", "memcached://host:99999",
     "memcached://a:1,b:0"].each do |url|
      error = assert_raises(Tiercel::ConfigurationError, url) { MemcachedServers.build(url) }
      refute_includes error.message, "secret"
    end
    assert_raises(Tiercel::ConfigurationError) { MemcachedServers.build("memcached://a", timeout: "no") }
    [{ ssl: "maybe" }, { ssl: OpenSSL::SSL::SSLContext.new }, { ssl_params: 3 },
     { ssl_params: { shoe_size: 43 } }].each do |options|
      error = assert_raises(Tiercel::ConfigurationError, options.inspect) do
        MemcachedServers.build("memcached://a", **options)
      end
      assert_includes error.message, options.keys.first.to_s
    end
  end
end
