# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache/tiercel_store"
require "tiercel/lab/servers"

# Listing the keys of a server where there is no place for temporary files, as in a read-only container.
class MemcachedKeyDumpTest < Tiercel::TestCase
  LONG = "k" * 200

  def test_a_small_cache_needs_none
    in_a_read_only_container do |store|
      store.write_multi((0...500).to_h { |index| ["few #{index}", 1] })
      assert_equal [500, {}], [store.delete_matched("few*"), store.read_multi("few 1", "few 499")]
    end
  end

  def test_a_large_one_fails_as_backends_fail
    in_a_read_only_container do |store|
      store.write_multi((0...25_000).to_h { |index| ["many #{index} #{LONG}", 1] })
      assert_equal [nil, nil], [store.delete_matched("many*"), store.delete_matched("many*")]
      assert_equal 1, store.read("many 1 #{LONG}")
    end
  end

  # The binary protocol takes them.
  def test_keys_that_are_no_words_are_passed_over
    Tiercel::Lab::Servers::Memcached.run do |server|
      store = Tiercel.new(server.url, namespace: "a")
      others = Tiercel.new(server.url, namespace: "b")
      [store, others].each { |each| each.write("kept", 1) }
      ["a:x\nb:kept", "a:x\r\nflush_all\r\n", "a:x q", "a:x\0"].each { |key| assert_equal 0, binary_set(server, key) }
      assert_equal [1, nil], [store.delete_matched("*"), store.read("kept")]
      store.write("kept", 1)
      assert_empty capture_reports { store.clear }
      assert_equal [nil, 1], [store.read("kept"), others.read("kept")]
    end
  end

  private

  def binary_set(server, key)
    TCPSocket.open(server.host, server.port) do |socket|
      header = [0x80, 1, key.bytesize, 8, 0, 0, 8 + key.bytesize, 0, 0].pack("CCnCCnNNQ>")
      socket.write(header, "\0" * 8, key)
      socket.read(24).unpack1("@6n")
    end
  end

  def in_a_read_only_container
    Tiercel::Lab::Servers::Memcached.run do |server|
      outcomes = fork_and_wait(1) do
        nowhere = Module.new { def tmpdir(*) = raise(ArgumentError, "could not find a temporary directory") }
        Dir.singleton_class.prepend(nowhere)
        yield Tiercel.new(server.url, timeout: 20)
        :done
      end
      assert_equal [:done], outcomes
    end
  end
end
