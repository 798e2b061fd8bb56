# frozen_string_literal: true

require_relative "../support/lab_case"

class RawSocketTest < LabCase
  PAIRS = Array.new(10) { |index| ["raw:#{index}", "value #{index} \r\n\xFF".b] }.to_h.freeze

  def check(client)
    client.prepare(PAIRS)
    assert_raises(Lab::Missed) { client.expect(PAIRS) }
    PAIRS.each { |name, bytes| client.set(name, bytes) }
    client.expect(PAIRS)
    assert_includes client.get("raw:3"), PAIRS["raw:3"]
    check_many(client)
  ensure
    client.close
  end

  def check_many(client)
    names, changed = PAIRS.keys, PAIRS.transform_values(&:upcase)
    client.prepare_many(names, changed, :get)
    client.prepare_many(changed, changed, :set)
    client.set_multi(changed)
    assert_raises(Lab::WrongValue) { client.expect(PAIRS) }
    changed.each_value { |bytes| assert_includes client.get_multi(names).join, bytes }
    deleted = names.dup
    client.prepare_many(deleted, changed, :delete)
    assert_match(/\A((DELETED\r\n){10}|:10\r\n)\z/, client.delete_multi(deleted).join)
    assert_raises(Lab::Missed) { client.expect(changed) }
    client.forget(deleted)
    assert_raises(KeyError) { client.delete_multi(deleted) }
  end

  def test_one_memcached
    skip "memcached is not installed" unless Lab::Servers::Memcached.installed?
    Lab::Servers::Memcached.run { |server| check(Lab::RawSocket::Memcached.new([server.address])) }
  end

  def test_a_ring_spreads_the_names
    skip "memcached is not installed" unless Lab::Servers::Memcached.installed?
    Lab::Servers::MemcachedRing.run(count: 2) do |ring|
      check(Lab::RawSocket::Memcached.new(ring.addresses))
      items = ring.nodes.map do |node|
        Socket.tcp("127.0.0.1", node.port) do |io|
          io.write("stats\r\n") && io.readpartial(65_536)[/total_items (\d+)/, 1].to_i
        end
      end
      assert(items.all? { |count| count >= 10 }, items.inspect)
    end
  end

  def test_redis
    skip "redis-server is not installed" unless Lab::Servers::Redis.installed?
    Lab::Servers::Redis.run do |server|
      check(Lab::RawSocket::Redis.new(["127.0.0.1:#{server.port}"]))
      check(Lab::RawSocket::Redis.new(["127.0.0.1:#{server.port}"], ttl: 60))
      ending = Lab::RawSocket::Redis.new(["127.0.0.1:#{server.port}"], ttl: 60)
      ending.prepare("raw:end" => "value")
      assert_equal "+OK\r\n", ending.set("raw:end", "value")
      assert_includes 1..60_000, server.command("PTTL", "raw:end").to_i
    end
  end
end
