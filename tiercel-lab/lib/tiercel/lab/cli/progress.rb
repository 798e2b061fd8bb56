# frozen_string_literal: true

require_relative "../report"

module Tiercel
  module Lab
    module CLI
      # Shows the current measurement and the remaining time on stderr: one line that is overwritten at a terminal,
      # plain lines now and then elsewhere.
      class Progress
        # Seconds between lines where they cannot be overwritten.
        PLAIN_SECONDS = 15
        # In place of it, for a program that reads the lines.
        PLAIN_VARIABLE = "TIERCEL_LAB_PROGRESS_SECONDS"
        # At a terminal.
        LIVE_SECONDS = 0.2

        # @param io [IO]
        # @param expected_seconds [Float] of the whole run, by the plan
        def initialize(io, expected_seconds:)
          @io = io
          @live = io.respond_to?(:tty?) && io.tty? && ENV["TERM"] != "dumb"
          @expected = expected_seconds
          @every = @live ? LIVE_SECONDS : Float(ENV.fetch(PLAIN_VARIABLE, PLAIN_SECONDS))
          @done = 0.0
          @started = now
          @shown = @live ? 0.0 : @started
        end

        # @param seconds [Float] how much of the plan is done, by the plan's reckoning
        # @param what [String] that was done
        def advance(seconds, what)
          @done += seconds
          return if now - @shown < @every
          @shown = now
          show("#{(100 * @done / @expected).clamp(0, 100).round} %, #{Report::Format.minutes(left)} left: #{what}")
        end

        # @param seconds [Float] of more than was planned
        def expect(seconds) = @expected += seconds

        # @param text [String] something out of the ordinary
        def say(text)
          clear
          @io.puts text
        end

        # Takes the line away.
        def clear = (@io.print("\r\e[K") if @live)

        # @return [Float] seconds
        def left
          pace = @done.positive? ? (now - @started) / @done : 1.0
          [(@expected - @done) * pace, 0.0].max
        end

        private

        def show(text)
          @live ? @io.print("\r\e[K#{text}") : @io.puts(text)
        end

        def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      end
    end
  end
end
