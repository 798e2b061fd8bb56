# frozen_string_literal: true

require "rack/mock"
require "tmpdir"
require "tiercel"
require "active_support/cache/tiercel_store"
require "tiercel/web"
require "support/moved_clock"

# Measures the time of each page of Tiercel::Web over a large segment with a full account.
module TimedPages
  PATHS = %w[/ /?period=day /classes /keys?prefix_key=class1/ /keys?prefix_key=nothing /tags?prefix_key=p /tiers
             /servers].freeze
  CLASSES = ("aaa".."zzz").first(1_000).freeze
  # Number of keys that share the variable part of their class.
  SHARED_BY = 21
  # Number of calls whose median is printed.
  CALLS = 7

  # @param entries [Integer]
  # @return [void]
  def self.print(entries)
    Dir.mktmpdir do |folder|
      store = Tiercel.new("shared:#{folder}/segment", size: entries * 400, average_entry_bytes: 128)
      entries.times { |index| store.write("class#{index % 1_000}/part#{index}", "x" * 40) }
      fill(store.account)
      web = Tiercel::Web.new(store:, protected_by: :routes)
      web.examination.report(web.given_stores, wait_seconds: 30)
      puts "#{store.stats[:entries]} entries, #{store.account.classes.size} classes"
      PATHS.each { |path| puts format("%-32s %6.1f ms, of the processor %6.1f ms", path, *medians(web, path)) }
    ensure
      store&.close
    end
  end

  class << self
    private

    # Fills in slices, because an account examines a bounded number of misses per second.
    def fill(account)
      CLASSES.each_slice(40) do |names|
        MovedClock.by(CLASSES.index(names.first)) do
          names.each { |name| SHARED_BY.times { |index| account.missed("#{name}/#{index}") } }
        end
      end
      account.flush
    end

    def medians(web, path)
      times = Array.new(CALLS) do
        began = clocks
        Rack::MockRequest.new(web).get(path)
        clocks.zip(began).map { |now, before| (now - before) * 1_000 }
      end
      times.transpose.map { |column| column.sort[CALLS / 2] }
    end

    def clocks = [Process::CLOCK_MONOTONIC, Process::CLOCK_PROCESS_CPUTIME_ID].map { |id| Process.clock_gettime(id) }
  end
end
