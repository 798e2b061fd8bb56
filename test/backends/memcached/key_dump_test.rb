# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache/tiercel_store"
require "tiercel/lab/servers"

# Lists of a server's keys.
class MemcachedKeyDumpTest < Tiercel::TestCase
  LONG = "k" * 200

  def test_a_large_cache_is_listed
    Tiercel::Lab::Servers::Memcached.run do |server|
      store = Tiercel.new(server.url, timeout: 60)
      store.write_multi((0...25_000).to_h { |index| ["many #{index} #{LONG}", 1] })
      assert_equal 25_000, store.delete_matched("many*")
    end
  end

  # The server runs one list at a time. Its turn may come later than a call's time budget, and from 1.6.28 on only
  # after the table has grown. A fake server sends its exact responses.
  def test_a_server_that_lists_keys_for_others_is_asked_again
    busy = Array.new(6) { "BUSY currently processing crawler request\r\n" }
    answers = ["MN\r\n", *busy, "ERROR locked try again later\r\n", "key=a:1 exp=-1\nEND\r\n"]
    listed, requests = with_stand_in(answers) do |url|
      Tiercel::Backends::REGISTRY.fetch(:memcached).build(Tiercel::BackendURL.parse(url), timeout: 20).scan("a:").to_a
    end
    assert_equal ["a:1"], listed
    assert_equal ["mn\r\n", *["lru_crawler metadump hash\r\n"] * 8], requests
  end

  def test_a_newer_server_announces_its_list
    listed, = with_stand_in(["MN\r\n", "OK\r\nkey=a:1 exp=-1\nkey=a:2 exp=-1\nEND\r\n"]) do |url|
      Tiercel::Backends::REGISTRY.fetch(:memcached).build(Tiercel::BackendURL.parse(url)).scan("a:").to_a
    end
    assert_equal %w[a:1 a:2], listed
  end

  def test_one_that_never_has_time_refuses
    with_stand_in(["BUSY currently processing crawler request\r\n"].cycle) do |url|
      store = Tiercel.new(url, namespace: "a", timeout: 1)
      reports = capture_reports { assert_nil store.clear }
      assert_equal [Tiercel::Refused], reports.map { |report| report.error.class }
      assert_match(/others have kept the server busy .* \(BUSY currently processing crawler request\); nothing was l/,
                   reports.first.error.message)
    end
  end

  def test_processes_that_clear_at_the_same_time_all_do
    Tiercel::Lab::Servers::Memcached.run do |server|
      left = fork_and_wait(6) do |number|
        store = Tiercel.new(server.url, namespace: "of #{number}", timeout: 20)
        Array.new(8) do
          store.write_multi((0...20).to_h { |index| [index, "value"] })
          reports = capture_reports { store.clear }.map { |report| report.error.message }
          reports << store.read_multi(*0...20).size
        end
      end
      assert_equal [[0]], left.flatten(1).uniq
    end
  end

  # Only the binary protocol accepts such keys.
  def test_keys_that_are_no_words_are_passed_over
    Tiercel::Lab::Servers::Memcached.run do |server|
      store = Tiercel.new(server.url, namespace: "a", timeout: 20)
      others = Tiercel.new(server.url, namespace: "b", timeout: 20)
      [store, others].each { |each| each.write("kept", 1) }
      ["a:x\nb:kept", "a:x\r\nflush_all\r\n", "a:x q", "a:x\0"].each { |key| assert_equal 0, binary_set(server, key) }
      assert_equal [1, nil], [store.delete_matched("*"), store.read("kept")]
      store.write("kept", 1)
      assert_empty capture_reports { store.clear }
      assert_equal [nil, 1], [store.read("kept"), others.read("kept")]
    end
  end

  private

  # @param answers [Enumerable<String>] one response per request
  # @return [Array(Object, Array<String>)] the block's value, and the requests
  def with_stand_in(answers)
    requests = []
    TCPServer.open("127.0.0.1", 0) do |listener|
      thread = Thread.new do
        socket = listener.accept
        answers.each do |answer|
          requests << (socket.gets or break)
          socket.write(answer)
        end
      ensure
        socket&.close
      end
      [yield("memcached://127.0.0.1:#{listener.addr[1]}"), requests]
    ensure
      thread&.kill&.join
    end
  end

  def binary_set(server, key)
    TCPSocket.open(server.host, server.port) do |socket|
      header = [0x80, 1, key.bytesize, 8, 0, 0, 8 + key.bytesize, 0, 0].pack("CCnCCnNNQ>")
      socket.write(header, "\0" * 8, key)
      socket.read(24).unpack1("@6n")
    end
  end
end
