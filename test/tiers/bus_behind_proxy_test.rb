# frozen_string_literal: true
# suites: store

require "test_helper"
require "support/machines"
require "support/moving_proxy"

# Proxies that do not support a feature of the bus, and reject it in different ways: copies then live for one second,
# and one report explains it.
class TiersBusBehindProxyTest < Tiercel::TestCase
  include Machines

  # Forwards everything except a greeting in RESP3.
  class Proxy < MovingProxy
    # @param target [Integer] the server's port
    # @yieldparam client [TCPSocket] the client that sent the greeting
    def initialize(target, &greeted)
      @greeted = greeted
      super() { target }
    end

    private

    def hand_on(bytes, from, to)
      bytes.include?("HELLO\r\n$1\r\n3\r\n") ? @greeted.call(from) : super
    end
  end

  GREETINGS = {
    cuts_off: [:close.to_proc, /Connection::Lost|ECONNRESET/],
    refuses_in_words_of_its_own: [->(client) { client.write("-ERR unsupported command\r\n") }, /unsupported command/],
    does_not_know_it: [->(client) { client.write("-ERR unknown command 'HELLO'\r\n") }, /HELLO/]
  }.freeze

  GREETINGS.each do |name, (greeted, message)|
    define_method(:"test_one_that_#{name}") do
      proxy = Proxy.new(Integer(server.url[/:(\d+)/, 1]), &greeted)
      reports = []
      store = hasty(machine(:one, url: proxy.url, error_handler: ->(exception:, **) { reports << exception }))
      store.write("key", "value")
      store.read("key")
      wait_until("the bus to be given up") { store.backend.near.ttl == 1.0 }
      wait_until("a report") { reports.any? }
      wait_until("a copy") { store.read("key") && store.backend.near.get("key") }
      assert_equal [Tiercel::Refused], reports.map(&:class)
      assert_match(/sends no invalidation messages.*so near copies live 1.0 s/, reports.first.message)
      assert_match message, reports.first.message
    ensure
      store&.close
      proxy&.stop
    end
  end

  # An unreachable server reveals nothing about its features, so copies are trusted again as soon as it is back.
  def test_a_server_that_is_away_is_no_proxy
    reports = Thread::Queue.new
    store = hasty(machine(:one, url: "redis://127.0.0.1:1/0",
                                error_handler: ->(method:, exception:, **) { reports << [method, exception.class] }))
    store.read("key")
    wait_until("a report of the bus") { reports.size.positive? && reports.pop == [:listen, Tiercel::Unavailable] }
    assert_equal 60.0, store.backend.near.ttl
  ensure
    store&.close
  end

  private

  # Retries without a pause.
  def hasty(store)
    store.backend.near.bus.define_singleton_method(:sleep) { |_| Kernel.sleep(0.01) }
    store
  end
end
