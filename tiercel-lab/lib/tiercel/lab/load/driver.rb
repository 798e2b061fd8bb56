# frozen_string_literal: true

require_relative "../statistics/histogram"
require_relative "arrivals"

module Tiercel
  module Lab
    module Load
      # Makes the requests of one process or thread at the times of its {Arrivals}.
      #
      # A driver measures `totals` (requests, hits, seconds, CPU), or additionally a `histogram` of the requests' times,
      # or the nanoseconds of `each` request. An open load has two histograms: `response` counts from the moment at
      # which a request was due, `service` from the moment at which it was sent.
      class Driver
        # Calls between two readings of the clock, and the length of a load without a number of requests.
        CHUNK = 256
        PERIOD = 16 * CHUNK
        # The driver spins for this time, because a sleep may end half a millisecond late.
        SPIN_SECONDS = 0.0006
        # Achieved rate divided by offered rate. Below this share the store is overloaded.
        LEAST_SHARE = 0.99
        # An overloaded open load ends after this many times its duration. Requests that are still due are not sent.
        PATIENCE = 3

        # Runs a driver in each of several threads.
        #
        # @yieldparam thread [Integer]
        # @return [Array<Object>] the blocks' values
        def self.in_threads(count)
          Array.new(count) do |thread|
            Thread.new do
              Thread.current.report_on_exception = false # the value raises it
              yield thread
            end
          end.map(&:value)
        end

        # @param clock [#call] monotonic seconds
        # @param wait [#call] seconds to sleep
        def initialize(clock: -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) }, wait: method(:sleep))
          @clock = clock
          @wait = wait
        end

        # @param arrivals [Arrivals]
        # @param keys [#draw] see {Keys}
        # @param measure [String] "totals", "histogram" or "each"
        # @param near [Integer, nil] see {Keys#draw}
        # @param check [Proc, nil] takes the block's value and returns whether it is a hit; runs outside of the timed
        #   part, and only if calls are timed one by one
        # @yieldparam index [Integer] index of the entry
        # @yieldreturn [Object] true for a hit
        # @return [Hash{Symbol => Object}]
        def run(arrivals, keys, measure: "totals", near: nil, check: nil, &operation)
          plan = planned(arrivals, keys, near)
          late = arrivals.at && wait_until(arrivals.at)
          before = Process.times
          cpu, started = cpu_now, @clock.call
          found = arrivals.open? ? open(plan, arrivals, operation) : closed(plan, arrivals, measure, operation, check)
          seconds = @clock.call - started
          after = Process.times
          { seconds:, cpu_seconds: cpu_now - cpu, user: after.utime - before.utime, system: after.stime - before.stime,
            late_seconds: late, **found }.compact
        end

        private

        def cpu_now = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)

        # Draws keys and computes arrival times before the timed part.
        def planned(arrivals, keys, near)
          return keys.draw(arrivals.requests, near:) unless arrivals.seconds
          return keys.draw(PERIOD).each_slice(CHUNK).to_a unless arrivals.open?
          due = arrivals.schedule
          due.zip(keys.draw(due.size))
        end

        # --- Closed load: the next request follows the answer ---

        def closed(plan, arrivals, measure, operation, check)
          return one_by_one(plan, arrivals, measure, operation, check) unless measure == "totals"
          requests = hits = 0
          chunks(plan, arrivals) do |chunk|
            chunk.each { |index| hits += 1 if operation.call(index) }
            requests += chunk.size
          end
          { requests:, hits: }
        end

        def one_by_one(plan, arrivals, measure, operation, check)
          taken, hits = [], 0
          chunks(arrivals.seconds ? plan.flatten.each_slice(1) : plan, arrivals) do |chunk|
            chunk.each do |index|
              started = @clock.call
              found = operation.call(index)
              taken << ((@clock.call - started) * 1e9).round
              hits += 1 if check ? check.call(found) : found
            end
          end
          { requests: taken.size, hits:, **(measure == "each" ? { ns: taken } : { service: histogram(taken) }) }
        end

        # @yieldparam chunk [Array<Integer>]
        def chunks(plan, arrivals)
          return yield plan unless arrivals.seconds
          deadline = @clock.call + arrivals.seconds
          plan.cycle do |chunk|
            yield chunk
            break if @clock.call >= deadline
          end
        end

        def histogram(taken)
          taken.each_with_object(Statistics::Histogram.new) { |ns, histogram| histogram.record(ns) }.to_h
        end

        # --- Open load: requests have arrival times ---

        def open(plan, arrivals, operation)
          hits, response, service = 0, [], []
          started = @clock.call
          plan.each do |at, index|
            wait_until(started + at)
            sent = @clock.call
            break if sent - started > arrivals.seconds * PATIENCE
            hits += 1 if operation.call(index)
            done = @clock.call
            response << ((done - started - at) * 1e9).round
            service << ((done - sent) * 1e9).round
          end
          { hits:, **rates(plan, arrivals, response.size, @clock.call - started), rising: rising?(response),
            response: histogram(response), service: histogram(service) }
        end

        # Sleeps, then spins.
        #
        # @return [Float] seconds by which it is late
        def wait_until(due)
          while (left = due - @clock.call).positive?
            @wait.call(left - SPIN_SECONDS) if left > SPIN_SECONDS
          end
          -left
        end

        # Offered and achieved rate of the requests that were sent, up to the last answer.
        def rates(plan, arrivals, sent, elapsed)
          span = plan[sent - 1].first + (1.0 / arrivals.rate)
          elapsed = [elapsed, span].max
          { requests: sent, unsent: plan.size - sent, offered: sent / span, achieved: sent / elapsed,
            share: span / elapsed }
        end

        # Whether the requests' waiting time grew during the load.
        def rising?(response)
          first, second = response.each_slice((response.size / 2.0).ceil).to_a
          second ? second.sum.fdiv(second.size) > first.sum.fdiv(first.size) : false
        end
      end
    end
  end
end
