# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache/tiercel_store"
$LOAD_PATH.push(File.expand_path("../../tiercel-lab/lib", __dir__))
require "tiercel/lab/servers"

# Servers that fail between the steps of a fetch.
class LeaseFaultsTest < Tiercel::TestCase
  SERVERS = [Tiercel::Lab::Servers::Memcached, Tiercel::Lab::Servers::Redis].freeze

  def each_server
    SERVERS.each do |server_class|
      server = server_class.new.start
      yield server, Tiercel.new(server.url, lease: true, lease_ttl: 60, breaker: false)
    ensure
      server&.stop
    end
  end

  # The take reaches the server, and its answer comes too late to be heard.
  def test_a_take_whose_reply_was_lost_is_known_by_its_holder
    each_server do |server, store|
      store.write("warm", 1)
      lose_the_reply(server, store)
      runs = 0
      value = capture_reports_of { store.fetch("lost") { runs += 1; sleep 0.3; "made" } }
      assert_equal ["made", 1], [value, runs], server.url
      assert_equal "made", Tiercel.new(server.url).read("lost"), server.url
      assert_equal("made", store.fetch("lost") { flunk "it is stored" })
    end
  end

  def test_a_server_that_is_gone_stops_nobody
    each_server do |server, store|
      store.write("warm", 1)
      value = capture_reports_of { store.fetch("down") { server.stop && "made" } }
      assert_equal "made", value
      values = capture_reports_of { Array.new(3) { Thread.new { store.fetch("down") { "again" } } }.map(&:value) }
      assert_equal ["again"], values.uniq
    end
  end

  private

  def capture_reports_of
    value = nil
    capture_reports { value = yield }
    value
  end

  # The first take is sent while the server is stopped, and given up; then the server goes on.
  def lose_the_reply(server, store)
    backend = store.backend
    original = backend.method(:occupy)
    backend.define_singleton_method(:occupy) do |*arguments|
      singleton_class.remove_method(:occupy)
      server.pause
      begin
        original.unbind.bind_call(self, *arguments)
      ensure
        server.resume
      end
    end
  end
end
