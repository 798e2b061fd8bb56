# frozen_string_literal: true

require_relative "../report"

module Tiercel
  module Lab
    module CLI
      # Shows the current measurement and the remaining time on stderr. At a terminal it overwrites one line; elsewhere
      # it prints a line from time to time.
      class Progress
        # Seconds between printed lines.
        PLAIN_SECONDS = 15
        # Overrides {PLAIN_SECONDS}, for programs that read the lines.
        PLAIN_VARIABLE = "TIERCEL_LAB_PROGRESS_SECONDS"
        # Seconds between updates at a terminal.
        LIVE_SECONDS = 0.2

        # @param io [IO]
        # @param expected_seconds [Float] expected duration of the whole run in seconds
        def initialize(io, expected_seconds:)
          @io = io
          @live = io.respond_to?(:tty?) && io.tty? && ENV["TERM"] != "dumb"
          @expected = expected_seconds
          @every = @live ? LIVE_SECONDS : Float(ENV.fetch(PLAIN_VARIABLE, PLAIN_SECONDS))
          @done = 0.0
          @started = now
          @shown = @live ? 0.0 : @started
        end

        # @param seconds [Float] planned time of the finished step
        # @param what [String] name of the finished step
        def advance(seconds, what)
          @done += seconds
          return if now - @shown < @every
          @shown = now
          show("#{(100 * @done / @expected).clamp(0, 100).round} %, #{Report::Format.minutes(left)} left: #{what}")
        end

        # @param seconds [Float] planned time of additional steps
        def expect(seconds) = @expected += seconds

        # @param text [String] a message
        def say(text)
          clear
          @io.puts text
        end

        # Clears the line.
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
