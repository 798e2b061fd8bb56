# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache"
require "redis-client"
require "redis-cluster-client"
require_relative "tls_rows"

class MemcachedTLSTest < Tiercel::TestCase
  include TLSRows

  def server = @server ||= Servers::Memcached.new.start
  def place(port, host = "localhost") = "memcached://#{host}:#{port}"
  def trusting(authority) = authority ? { ssl_params: { ca_file: authority } } : { ssl: true }

  def test_a_context_that_checks_nothing_is_told_of
    bare = OpenSSL::SSL::SSLContext.new
    careful = OpenSSL::SSL::SSLContext.new.tap { |context| context.set_params({}) }
    assert_match(/does not verify the server's certificate/, capture_io { build(place(1), ssl: bare) }.last)
    assert_empty capture_io { build(place(1), ssl_context: careful) }.last
  end
end

class RedisTLSTest < Tiercel::TestCase
  include TLSRows

  def server = @server ||= Servers::Redis.new.start
  def place(port, host = "localhost") = "rediss://#{host}:#{port}/0"
  def trusting(authority) = authority ? { ssl_params: { ca_file: authority } } : {}

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

  def test_sentinels_without_tls
    with_front(server) do |front, authority|
      with_sentinel(front.port) do |sentinel|
        store = build("rediss://master/0", sentinels: "127.0.0.1:#{sentinel.port}", **trusting(authority),
                                            timeout: PATIENCE_SECONDS)
        assert_equal true, store.write("key", "value")
      end
    end
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

# hiredis-client does not verify the host name of a certificate, so it is only used if the options disable that check;
# the other rows apply to it as well.
class RedisHiredisTLSTest < Tiercel::TestCase
  include TLSRows

  ANY_HOST = { verify_hostname: false }.freeze

  def server = @server ||= Servers::Redis.new.start
  def place(port, host = "localhost") = "rediss://#{host}:#{port}/0"
  def trusting(authority) = { ssl_params: { **ANY_HOST, **(authority ? { ca_file: authority } : {}) } }

  def build(url, driver: :hiredis, **options) = super

  # hiredis does not make these checks.
  undef_method :test_another_hosts_certificate, :test_an_address_that_is_not_in_the_certificate
  undef_method :test_what_no_tls_can_be_made_of_is_told_without_what_is_secret # these options do not disable the check
  # Its message only says that the handshake failed.
  def assert_refused(store, _ = nil) = super(store, /the certificate may be at fault/)

  def driver(url, **options)
    config = Tiercel::Backends::Redis::Address.new(Tiercel::BackendURL.parse(url), options, 0.25).config
    config.is_a?(RedisClient::ClusterConfig) ? config.client_config.fetch(:driver) : config.driver
  end

  def test_it_is_refused
    { "rediss://cache:6380/0" => {}, "rediss+cluster://a:1,b:2" => {}, "redis://name" => { sentinels: "rediss://a:1" },
      "redis://other" => { sentinels: [{ url: "rediss://a" }] } }.each do |url, options|
      error = assert_raises(Tiercel::ConfigurationError, url) { build(url, **options) }
      assert_match(/driver: :hiredis does not verify host names.*verify_hostname: false/, error.message)
      assert_raises(Tiercel::ConfigurationError) { build(url, ssl_params: { verify_hostname: nil }, **options) }
    end
  end

  def test_what_no_tls_can_be_made_of
    [{ ca_file: __FILE__ }, { key: "secret", cert: "secret" }].each do |params|
      error = assert_raises(Tiercel::ConfigurationError) { build(place(1), ssl_params: { **ANY_HOST, **params }) }
      assert_match(/ssl_params: no TLS can be made of/, error.message)
      refute_match(/secret/, error.message)
    end
  end

  def test_a_password
    server.command("CONFIG", "SET", "requirepass", "key-to-the-door")
    with_front(server, names: "DNS:elsewhere.example") do |front, authority|
      store = tls_store(front, authority, password: "key-to-the-door")
      assert_equal true, store.write("key", "value")
      capture_reports { assert_nil tls_store(front, authority).read("key") }
    end
  end

  def test_it_is_taken_where_the_check_of_the_host_is_given_up
    [ANY_HOST, { "verify_hostname" => false }, { verify_mode: OpenSSL::SSL::VERIFY_NONE }].each do |params|
      assert_operator driver("rediss://cache", driver: :hiredis, ssl_params: params), :<, RedisClient::HiredisConnection
      assert_operator driver("rediss://cache", ssl_params: params), :<, RedisClient::RubyConnection
    end
  end

  def test_without_a_driver_it_is_not_taken
    ["rediss://cache", "rediss+cluster://a:1"].each do |url|
      assert_operator driver(url), :<, RedisClient::RubyConnection, url
    end
    assert_operator driver("redis://cache", sentinels: "rediss://a:1"), :<, RedisClient::RubyConnection
    assert_operator driver("redis://cache"), :<, RedisClient::HiredisConnection
    assert_operator driver("redis://cache", sentinels: "a:1"), :<, RedisClient::HiredisConnection
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
    wait_until("the cluster's gossip", within: 20) do
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
      store = build(url, driver: :hiredis, **options, ssl_params: careless)
      assert_equal true, store.write_multi((0...50).to_h { |index| ["key#{index}", index] })
      store = build(url, fixed_hostname: "localhost", **options)
      assert_equal true, store.write_multi((0...50).to_h { |index| ["key#{index}", index] })
    end
  end
end
