# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache"
require_relative "tls_rows"

class MemcachedTLSTest < Tiercel::TestCase
  include TLSRows

  def server = @server ||= Servers::Memcached.new.start
  def place(port, host = "localhost") = "memcached://#{host}:#{port}"
  def trusting(authority) = authority ? { ssl_params: { ca_file: authority } } : { ssl: true }
end

class RedisTLSTest < Tiercel::TestCase
  include TLSRows

  def server = @server ||= Servers::Redis.new.start
  def place(port, host = "localhost") = "rediss://#{host}:#{port}/0"
  def trusting(authority) = authority ? { ssl_params: { ca_file: authority } } : {}

  def test_a_password
    server.command("CONFIG", "SET", "requirepass", "key-to-the-door")
    with_front(server) do |front, authority|
      assert_equal true, tls_store(front, authority, password: "key-to-the-door").write("key", "value")
      capture_reports { assert_nil tls_store(front, authority).read("key") }
    end
  end

  # Reports one master to every client.
  class Sentinel
    ANSWERS = { "get-master-addr-by-name" => ->(port) { "*2\r\n$9\r\nlocalhost\r\n$#{port.size}\r\n#{port}\r\n" },
                "sentinels" => ->(_) { "*0\r\n" } }.freeze
    attr_reader :port

    def initialize(master_port)
      @master_port = master_port.to_s
      @listener = TCPServer.new("127.0.0.1", 0)
      @port = @listener.addr[1]
      @thread = Thread.new { loop { answer(@listener.accept) } }
    end

    def answer(client)
      while (asked = client.readpartial(1_000))
        client.write(ANSWERS.find { |word, _| asked.include?(word) }.last.call(@master_port))
      end
    rescue IOError, SystemCallError
      client.close
    end

    def connect = TCPSocket.new("127.0.0.1", port)

    def stop
      @thread.kill
      @listener.close
    end
  end

  def with_sentinel(master_port)
    sentinel = Sentinel.new(master_port)
    yield sentinel
  ensure
    sentinel&.stop
  end

  def test_sentinels_with_tls
    shown = Tiercel::SelfSigned.certificate_and_key
    with_front(server, shown: shown) do |front, authority|
      with_sentinel(front.port) do |plain|
        with_front(plain, shown: shown) do |sentinel, _|
          hash = { host: "localhost", port: sentinel.port, ssl: true }
          ["rediss://localhost:#{sentinel.port}", [hash]].each do |place|
            store = build("rediss://master/0", sentinels: place, timeout: PATIENCE_SECONDS, **trusting(authority))
            assert_equal true, store.write("key", "value"), place
          end
        end
        with_front(plain) do |stranger, _|
          assert_refused(build("rediss://master/0", sentinels: "rediss://localhost:#{stranger.port}",
                                                    timeout: PATIENCE_SECONDS, **trusting(authority)), /./)
        end
      end
    end
  end
end

# A cluster behind TLS whose nodes announce each other by address, as most clusters do.
class RedisClusterTLSTest < Tiercel::TestCase
  include RemoteFailures

  def with_cluster(names:)
    shown = Tiercel::SelfSigned.certificate_and_key(names: names)
    Servers::RedisCluster.run do |cluster|
      fronts = cluster.nodes.map { |node| Tiercel::TLSFront.new(node, :relay, *shown) }
      announce(cluster.nodes, fronts.map(&:port))
      with_tmpdir { |dir| yield "rediss+cluster://localhost:#{fronts.first.port}", fronts.first.authority(dir) }
    ensure
      fronts&.each(&:stop)
    end
  end

  def announce(nodes, ports)
    nodes.zip(ports) { |node, port| node.command("CONFIG", "SET", "cluster-announce-port", port) }
    wait_until("the cluster's gossip") do
      nodes.all? { |node| node.command("CLUSTER", "NODES").scan(/:(\d+)@/).flatten.map(&:to_i).sort == ports.sort }
    end
  end

  def test_certificates_of_addresses
    with_cluster(names: "DNS:localhost,IP:127.0.0.1") do |url, authority|
      store = build(url, timeout: PATIENCE_SECONDS, ssl_params: { ca_file: authority })
      values = (0...50).to_h { |index| ["key#{index}", index] }
      assert_equal true, store.write_multi(values)
      assert_equal values, store.read_multi(*values.keys)
      capture_reports { assert_nil build(url, timeout: 2).read("key1"), "nobody vouches for it" }
    end
  end

  def test_certificates_of_one_name
    with_cluster(names: "DNS:localhost") do |url, authority|
      options = { timeout: PATIENCE_SECONDS, ssl_params: { ca_file: authority } }
      reports = capture_reports { assert_nil build(url, **options).read("key") }
      assert_reported(reports, "key")
      careless = { ca_file: authority, verify_hostname: false }
      store = build(url, **options, ssl_params: careless)
      assert_equal true, store.write_multi((0...50).to_h { |index| ["key#{index}", index] })
      store = build(url, fixed_hostname: "localhost", **options)
      assert_equal true, store.write_multi((0...50).to_h { |index| ["key#{index}", index] })
    end
  end
end
