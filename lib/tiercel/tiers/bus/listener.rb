# frozen_string_literal: true

require_relative "../../backend"
require_relative "../../background_thread"
require_relative "../../errors"
require_relative "../coverage"

module Tiercel
  class Tiers < Backend
    class Bus
      # One subscription from beginning to end, and the thread that reads it. The thread deletes the copies of changed
      # keys, and records the time until which the near tier has received every change ("The bus" in
      # memory-model.md).
      #
      # @private
      class Listener
        # A new connection leads to another server than the subscription.
        class AnotherServer < Unavailable; end

        # The listener asks again after this part of an interval: if it asked last; if it asked last and its process
        # waits for Ruby's lock; and if another process of the machine asked last.
        OWN_TURN = 0.95
        LATE_TURN = 0.5
        OTHER_TURN = 1.3
        # If a question has no answer after this time, and new connections get one, the connection is dead.
        LOST_NS = 10 * Coverage::NANOSECONDS
        private_constant :OWN_TURN, :LATE_TURN, :OTHER_TURN, :LOST_NS

        # @return [StandardError, nil] why the thread has ended
        attr_reader :error
        # @return [Integer] keys that the server has sent
        attr_reader :invalidations

        # @param subscription [Backends::Redis::Subscription]
        # @param coverage [Coverage]
        # @param interval [Numeric] seconds between two questions
        def initialize(subscription, coverage, interval)
          @subscription = subscription
          @coverage = coverage
          @interval = interval * Coverage::NANOSECONDS
          @invalidations = 0
          @news = Thread::Queue.new # closed when the thread ends
          @thread = BackgroundThread.new("tiercel listener") { run }
        end

        # @return [void]
        # @raise [BackendError] if the server refuses the subscription or does not answer
        def start
          @subscription.open
          @since = @coverage.now
          @proven = @coverage.segment.near_server == @subscription.server
          @thread.start
        end

        # @return [Boolean]
        def alive? = !@news.closed? && @thread.running?

        # @return [Boolean] whether this listener has covered the near tier
        def covered? = !@covered.nil?

        # Asks the server if a question is due. There is one question at a time: memory-model.md needs that.
        #
        # @param late [Boolean] whether this process waits for Ruby's lock
        # @return [Boolean] whether the answer will cover the machine's near tier
        # @raise [BackendError]
        def ask(late = false)
          now = @coverage.now
          return false unless due?(now, late)
          @tried = now
          return false unless same_server?
          return give_up(now) if @asked
          @asked = now
          @proven ? @subscription.ask : @subscription.probe(@probe = @subscription.probe_key)
          @proven
        end

        # @param seconds [Numeric] the longest wait
        # @return [void]
        def wait(seconds) = @news.pop(timeout: seconds)

        # @return [void]
        def close
          @thread.stop
          @subscription.close
        end

        private

        def run
          loop { hear(@subscription.read) }
        rescue StandardError => error
          @error = error
        ensure
          @news.close
        end

        # @param now [Integer] nanoseconds
        def due?(now, late)
          return true unless @covered
          covered = @coverage.covered
          turn = covered == @covered ? (late ? LATE_TURN : OWN_TURN) : OTHER_TURN
          now - @tried >= @interval * LATE_TURN && now - covered >= @interval * turn
        end

        # @return [Boolean] false if no new connection gets an answer
        def same_server?
          same = @subscription.same_server?
        rescue Unavailable
          false
        else
          same or raise AnotherServer.new("another server answers than the one that is listened to",
                                          backend: @subscription.to_s)
        end

        def give_up(now)
          return false if now - @asked < LOST_NS
          error = @proven ? Unavailable : Refused
          raise error.new("a connection has had no answer for #{LOST_NS / Coverage::NANOSECONDS} s, which others have",
                          backend: @subscription.to_s)
        end

        def hear(message)
          case message
          when Array then message.each { |key| changed(key) }
          when nil then @coverage.segment.near_clear
          when :master then answered
          when :busy then @asked = nil
          end
        end

        def changed(key)
          return proven if key == @probe
          @coverage.segment.near_invalidate(key)
          @invalidations += 1
        end

        def proven
          @proven = true
          @probe = @asked = nil
          @news.push(true) # the first question need not wait
        end

        def answered
          asked = @asked
          @asked = nil
          return if asked.nil? || earlier_listener?
          @covered = asked unless @coverage.cover(@since, asked, @subscription.server).nil?
        end

        # An earlier listener of another process covers the time until this one began.
        def earlier_listener?
          @coverage.now - @since < @interval * OTHER_TURN && @coverage.covered < @since &&
            @coverage.shared? && @coverage.trusted?
        end
      end
    end
  end
end
