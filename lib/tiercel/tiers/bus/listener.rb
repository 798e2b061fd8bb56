# frozen_string_literal: true

require_relative "../../backend"
require_relative "../../errors"
require_relative "../coverage"

module Tiercel
  class Tiers < Backend
    class Bus
      # One subscription from its begin to its end, and the thread that reads it: the thread deletes the copies of what
      # has changed, and records in the near tiers until when it has heard of every change ("The bus" in
      # docs/memory-model.md).
      #
      # @private
      class Listener
        # A new connection leads to another server than the subscription.
        class AnotherServer < Unavailable; end

        # Of an interval, after which the server is asked again.
        NEARLY = 0.95
        # The same where this process waits for the interpreter: it needs the time before trust ends.
        HURRIED = 0.5
        # The same where another process of the machine asked last, whose turn it is.
        ANOTHERS = 1.3
        # An answer that has not come by then is lost, if new connections get one.
        LOST_NS = 10 * Coverage::NANOSECONDS
        private_constant :NEARLY, :HURRIED, :ANOTHERS, :LOST_NS

        # @return [StandardError, nil] why it has ended
        attr_reader :error
        # @return [Boolean] whether the near tiers were covered by it
        attr_reader :heard
        # @return [Integer] keys that the server has sent
        attr_reader :invalidations

        # @param subscription [Backends::Redis::Subscription]
        # @param coverages [Array<Coverage>] nearest first
        # @param interval [Numeric] seconds between two questions
        def initialize(subscription, coverages, interval)
          @subscription = subscription
          # A copy of a nearer tier may be one of a farther tier's: that one has to go first.
          @coverages = coverages.reverse
          @segments = @coverages.map(&:segment)
          @interval = interval * Coverage::NANOSECONDS
          @invalidations = 0
          @heard = false
          @news = Thread::Queue.new # closed when the thread ends
        end

        # @return [void]
        # @raise [BackendError] if there is no subscription to be had
        def start
          @subscription.open
          @since = now
          @proven = @segments.first.near_server == @subscription.server
          thread = Thread.new { run }
          thread.name = "tiercel listener"
          thread.thread_variable_set(:fork_safe, true)
          thread.report_on_exception = false
          @thread = thread
        end

        # @return [Boolean]
        def alive? = !@news.closed? && (@thread&.alive? || false)

        # Asks the server, if it is time to. One question at a time: docs/memory-model.md needs that.
        #
        # @param late [Boolean] whether this process waits for the interpreter
        # @return [Boolean] whether the server was asked for the machine
        # @raise [BackendError]
        def ask(late = false)
          asked = now
          return false unless due?(asked, late)
          @tried = asked
          return false unless same_server?
          return give_up(asked) if @asked
          @asked = asked
          @proven ? @subscription.ask : @subscription.probe(@probe = @subscription.probe_key)
          @proven
        end

        # @param seconds [Numeric] at most
        # @return [void]
        def wait(seconds) = @news.pop(timeout: seconds)

        # @return [void]
        def close
          @thread&.kill&.join(1) unless Thread.current.equal?(@thread)
          @subscription.close
        end

        private

        def now = @coverages.first.now

        def run
          loop { hear(@subscription.read) }
        rescue StandardError => error
          @error = error
        ensure
          @news.close
        end

        # @param time [Integer] nanoseconds: now
        def due?(time, late)
          return true unless @heard
          oldest = @coverages.map(&:covered).min
          share = oldest == @covered ? (late ? HURRIED : NEARLY) : ANOTHERS
          time - @tried >= @interval * HURRIED && time - oldest >= @interval * share
        end

        # @return [Boolean] false if no new connection has an answer
        def same_server?
          same = @subscription.same_server?
        rescue Unavailable
          false
        else
          same or raise AnotherServer.new("another server answers than the one that is listened to",
                                          backend: @subscription.to_s)
        end

        def give_up(time)
          return false if time - @asked < LOST_NS
          error = @proven ? Unavailable : Refused
          raise error.new("a connection has had no answer for #{LOST_NS / Coverage::NANOSECONDS} s, which others have",
                          backend: @subscription.to_s)
        end

        def hear(message)
          case message
          when Array then message.each { |key| changed(key) }
          when nil then @segments.each(&:near_clear)
          when :master then answered
          when :busy then @asked = nil
          end
        end

        def changed(key)
          return proven if key == @probe
          @segments.each { |segment| segment.near_invalidate(key) }
          @invalidations += 1
        end

        def proven
          @proven = true
          @probe = @asked = nil
          @news.push(true) # the first question need not wait
        end

        # A nearer tier's copies came from the farther one: they are covered where that one is.
        def answered
          asked = @asked
          @asked = nil
          return if asked.nil? || others_first?
          return unless @coverages.all? { |coverage| !coverage.cover(@since, asked, @subscription.server).nil? }
          @covered = asked
          @heard = true
        end

        # A listener of another process that was there before this one covers the time until this one began.
        def others_first?
          now - @since < @interval * ANOTHERS && @coverages.any? do |coverage|
            coverage.covered < @since && coverage.shared? && coverage.trusted?
          end
        end
      end
    end
  end
end
