# frozen_string_literal: true

require "test_helper"
require "tiercel/lab/servers"

# Groups of servers, and what they answer to clients without credentials.
class ServerGroupsTest < Tiercel::TestCase
  Servers = Tiercel::Lab::Servers

  def test_redis_cluster_serves_every_slot
    Servers::RedisCluster.run do |cluster|
      assert_equal 3, cluster.pids.uniq.size
      assert_equal "redis+cluster://#{cluster.ports.map { |port| "127.0.0.1:#{port}" }.join(",")}", cluster.url
      answers = cluster.nodes.map { |node| node.command("SET", "a", "1") }
      assert_equal 1, answers.count("OK"), answers.inspect
      assert_equal 2, answers.count { |answer| answer.start_with?("-MOVED 15495") }, answers.inspect

      ports = cluster.ports
      cluster.restart
      assert_equal ports, cluster.ports
      assert_equal 0, cluster.nodes.sum { |node| node.command("DBSIZE").to_i }
    end
  end

  def test_redis_and_memcached_with_tls
    Servers::Redis.run(tls: true) do |server|
      assert_equal "rediss://127.0.0.1:#{server.port}/0", server.url
      assert_equal "PONG", server.command("PING")
      assert_path_exists server.certificate.file
      assert_raises(OpenSSL::SSL::SSLError) { distrustful(server) }
    end
    Servers::Memcached.run(tls: true) do |server|
      assert_equal "END\r\n", server.exchange("get a\r\n", &:gets)
    end
  end

  # A client that does not know the certificate.
  def distrustful(server)
    context = OpenSSL::SSL::SSLContext.new
    context.set_params
    OpenSSL::SSL::SSLSocket.new(TCPSocket.new("127.0.0.1", server.port), context).connect
  end

  def test_a_replica_follows_its_master_and_takes_no_writes
    Servers::Redis.run do |master|
      assert_equal "OK", master.command("SET", "a", "1")
      Servers::Redis.run(replica_of: master) do |replica|
        assert_equal "1", replica.command("GET", "a")
        assert_match(/\A-READONLY/, replica.command("SET", "a", "2"))
      end
    end
  end

  def test_a_sentinel_makes_the_replica_master
    Servers::RedisSentinel.run do |group|
      assert_equal "127.0.0.1:#{group.sentinel.port}", group.address
      assert_match(/^master0:name=tiercel,.*:#{group.master.port},slaves=1/, group.sentinel.command("INFO", "sentinel"))
      group.fail_over
      refute_predicate group.master, :running?
      assert_equal "OK", group.replica.command("SET", "a", "1")
    end
  end
end
