# frozen_string_literal: true

require "puma"
require "puma/server"
require "active_support/cache/tiercel_store"
require "support/moved_clock"
require "tiercel/web"

# A shop's day, for the pictures in docs/: a store, its account of the last 24 hours, and the web page that shows
# them.
module SampleDay
  # Classes of keys: reads per minute, miss ratio, seconds per block.
  CLASSES = { "views/products/show" => [420, 0.03, 0.048], "api/products" => [160, 0.05, 0.021],
              "recommendations" => [60, 0.09, 0.190], "views/layouts/header" => [240, 0.004, 0.012],
              "search/suggestions" => [90, 0.22, 0.016], "rates" => [45, 0.02, 0.110],
              "cart/summary" => [80, 0.12, 0.006],
              "geo" => [30, 0.03, 0.031] }.freeze
  MINUTES = 1_440

  FINDING = Tiercel::Doctor::Finding.new(
    status: :finding, check: "redis", subject: "session cache",
    text: "redis://10.0.0.5:6379/0 has no memory limit: the cache grows until the machine is out of memory",
    fix: "CONFIG SET maxmemory 1gb (and in redis.conf), with maxmemory-policy allkeys-lru"
  )

  # @param folder [String]
  # @yieldparam address [String] the address of the page
  # @yieldparam web [Tiercel::Web]
  def self.serve(folder)
    store = Tiercel.new("shared:#{folder}/shop", size: "64MB")
    store.backend.define_singleton_method(:to_s) { "shared:/dev/shm/tiercel-shop-production-1000-5c0ffee1.v2" }
    Tiercel::Web::Page.define_method(:host) { "web-1" }
    Tiercel::Web::Page.define_method(:environment) { "production" }
    new_day(store)
    2_000.times { |index| store.write("views/products/show/#{index}", "x" * 9_000, expires_in: 3_600) }
    web = Tiercel::Web.new(store:, protected_by: :routes, actions: true)
    web.examination.report(web.given_stores, wait_seconds: 30)
    server = Puma::Server.new(web, nil, { min_threads: 1, max_threads: 2, log_writer: Puma::LogWriter.null })
    port = server.add_tcp_listener("127.0.0.1", 0).addr[1]
    server.run
    yield "http://127.0.0.1:#{port}", web
  ensure
    server&.stop(true)
    store&.close
  end

  # Makes the page show a finding.
  #
  # @param web [Tiercel::Web]
  # @return [void]
  def self.plant_finding(web)
    web.examination.report.findings.unshift(FINDING)
  end

  class << self
    private

    def new_day(store)
      random = Random.new(30)
      MINUTES.times do |index|
        MovedClock.by((index - MINUTES + 1) * 60) { minute(store.account, random, busy(index, random), index) }
      end
    end

    # More load in the evening than at night, and more misses after a deploy in the morning.
    def busy(index, random) = 1 + (0.6 * Math.sin(index * 2 * Math::PI / MINUTES)) + (random.rand * 0.12)

    # Adds to a counter that the segment normally updates itself.
    def add(account, name, amount) = account.send(:add, Tiercel::Account::Figures.of_tier(0, name), amount)

    def minute(account, random, busy, index)
      cold = index.between?(900, 960) ? 1 + ((960 - index) / 14.0) : 1
      CLASSES.each do |name, (reads, missing, seconds)|
        misses = [(reads * busy * missing * cold).round, 1].max
        account.hits(0, (reads * busy).round - misses)
        account.sampled("#{name}/1", (reads * busy).round - misses)
        misses.times do |at|
          key = "#{name}/#{index}-#{at}"
          account.missed(key)
          account.send(:computed, key, (seconds * (0.6 + (random.rand * 0.8)) * 1e9).to_i)
        end
        add(account, :writes, misses)
      end
      add(account, :main_evictions, (random.rand(30) * busy).round)
      account.count(:lease_waits, random.rand(3) * cold.round)
      account.count(:stale_hits, random.rand(2))
    end
  end
end
