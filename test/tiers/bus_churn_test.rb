# frozen_string_literal: true
# suites: store

require "test_helper"
require "support/churn"
require "support/machines"

# Connections are randomly cut, paused and resumed. No read returns a value that was overwritten longer ago than
# copies are trusted.
class TiersBusChurnTest < Tiercel::TestCase
  include Churn
  include Machines

  def cut_and_hold(pace)
    proxies = Array.new(2) { Tiercel::Lab::Network::Proxy.new(server).start }
    disturber = Thread.new { disturb(proxies, pace, Random.new(1)) }
    churn(pace) do |number|
      store = machine(:"machine#{number % 2}", url: proxies[number % 2].url, timeout: 0.5, breaker: false,
                                               error_handler: ->(**) {})
      read_and_write(store, number, pace)
    end
  ensure
    disturber&.kill&.join
    proxies&.each(&:stop)
  end

  def test_no_stale_read_beyond_the_bound = cut_and_hold(SHORT)

  def test_a_million_reads
    skip "a million reads: --long" unless long?
    tell(cut_and_hold(LONG))
  end
end
