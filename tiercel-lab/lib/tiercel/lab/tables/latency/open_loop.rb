# frozen_string_literal: true

require_relative "../../statistics/histogram"

module Tiercel
  module Lab
    module Tables
      module Latency
        # Requests at a rate of the world's own, not of the store's: when one is
        # late, those that were due meanwhile wait too, and their wait counts
        # (a closed loop leaves it out: "coordinated omission", Gil Tene, 2013).
        #
        # Latency is from when a request was due, service time from when it was sent.
        class OpenLoop
          ARRIVALS = %w[exponential constant].freeze
          # A sleep ends late by up to half a millisecond; the rest is spun.
          SPIN_SECONDS = 0.0006
          # Achieved by offered: below it the load was not carried, and percentiles would only say how long we watched.
          LEAST_SHARE = 0.99

          # @param rate [Float] requests a second
          # @param seconds [Float]
          # @param arrivals [String] one of {ARRIVALS}
          # @param seed [Integer]
          # @param clock [#call] monotonic seconds
          # @param wait [#call] seconds to sleep
          def initialize(rate:, seconds:, arrivals: ARRIVALS.first, seed: 1,
                         clock: -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) }, wait: method(:sleep))
            @rate = rate
            @arrivals = arrivals
            @count = [(rate * seconds).ceil, 1].max
            @random = Random.new(seed)
            @clock = clock
            @wait = wait
          end

          # @return [Array<Float>] seconds from the start at which requests are due
          def schedule
            at = 0.0
            Array.new(@count) { at.tap { at += gap } }
          end

          # @yield one request
          # @return [Hash{Symbol => Object}] :response and :service (histograms of ns), :offered and :achieved (requests
          #   a second), :share, :requests
          def run(&)
            due = schedule
            response, service = Statistics::Histogram.new, Statistics::Histogram.new
            started = @clock.call
            due.each { |at| one(started + at, response, service, &) }
            result(due, @clock.call - started).merge(response: response.to_h, service: service.to_h)
          end

          private

          # Of an exponential distribution by inversion: -ln(1 - u) / rate.
          def gap = @arrivals == "constant" ? 1.0 / @rate : -Math.log(1.0 - @random.rand) / @rate

          def one(due_at, response, service)
            wait_until(due_at)
            sent_at = @clock.call
            yield
            done_at = @clock.call
            response.record(((done_at - due_at) * 1e9).round)
            service.record(((done_at - sent_at) * 1e9).round)
          end

          def wait_until(due_at)
            while (left = due_at - @clock.call).positive?
              @wait.call(left - SPIN_SECONDS) if left > SPIN_SECONDS
            end
          end

          # Over the time in which requests came, to the last answer: both rates of the same requests.
          def result(due, elapsed)
            span = due.last + (1.0 / @rate)
            share = [span / [elapsed, span].max, 1.0].min
            { requests: due.size, offered: due.size / span, achieved: due.size / [elapsed, span].max, share: }
          end
        end
      end
    end
  end
end
