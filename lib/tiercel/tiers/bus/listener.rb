# frozen_string_literal: true

require_relative "../../backend"
require_relative "../../clock"
require_relative "../../errors"
require_relative "../coverage"
require_relative "heartbeat"

module Tiercel
  class Tiers < Backend
    class Bus
      # One subscription from its begin to its end, and the thread that reads it: puts away the copies of what has
      # changed, and tells the near tiers until when they have heard of everything.
      #
      # @private
      class Listener
        # Another process of the machine that has listened all the while may be slower to say so.
        PATIENCE_SECONDS = 0.25
        POLL_SECONDS = 0.01
        # Of an interval, after which a heartbeat is due.
        NEARLY = 0.95
        private_constant :PATIENCE_SECONDS, :POLL_SECONDS, :NEARLY

        # @return [StandardError, nil] why it has ended
        attr_reader :error
        # @return [Boolean] whether an echo has come
        attr_reader :heard
        # @return [Integer] keys that it was told of
        attr_reader :invalidations

        # @param subscription [Backends::Redis::Subscription]
        # @param coverages [Array<Coverage>] nearest first
        def initialize(subscription, coverages)
          @subscription = subscription
          # A copy of a nearer tier may be one of a farther tier's: that one has to go first.
          @coverages = coverages.reverse
          @segments = @coverages.map(&:segment)
          @invalidations = 0
          @heard = false
        end

        # @return [void]
        # @raise [BackendError] if there is no subscription to be had
        def start
          @subscription.open
          @since = now
          @thread = Thread.new { run }
          @thread.name = "tiercel listener"
          @thread.thread_variable_set(:fork_safe, true)
          @thread.report_on_exception = false
        end

        # @return [Boolean]
        def alive? = @thread&.alive? || false

        # Sends a heartbeat, unless another process of the machine has done so lately, and this one has heard of it.
        #
        # @param interval [Float] seconds
        # @return [void]
        # @raise [BackendError]
        def beat(interval)
          sent = now
          oldest = @coverages.map(&:covered).min
          return if oldest >= @since && sent - oldest < interval * NEARLY * Coverage::NANOSECONDS
          @subscription.beat(Heartbeat.key(segment_id, sent))
        end

        # @param seconds [Float]
        # @return [void]
        def wait(seconds) = @thread.join(seconds)

        # @return [void]
        def close
          thread = @thread
          thread&.kill&.join(1) unless Thread.current.equal?(thread)
          @subscription.close
        end

        private

        def now = @coverages.first.now

        # The farthest near tier is the one that the machine's processes have in common.
        def segment_id = @segments.first.file_id

        # Heartbeats come every second, so silence is a failure too.
        def run
          loop { hear(@subscription.read(@coverages.first.trust)) }
        rescue StandardError => error
          @error = error
        end

        # @param keys [Array<String>, nil, false]
        def hear(keys)
          return if keys == false
          return @segments.each(&:near_clear) if keys.nil?
          beats = nil
          keys.each do |key|
            next (beats ||= []) << key if Heartbeat.heartbeat?(key)
            @segments.each { |segment| segment.near_invalidate(key) }
            @invalidations += 1
          end
          beats&.each { |beat| echoed(beat) }
        end

        # What a nearer tier was filled with came from the farther one: it is covered where that one is.
        def echoed(beat)
          sent = Heartbeat.sent(beat, segment_id)
          return if sent.nil? || !sent.between?(@since, now)
          @heard = true
          @coverages.each do |coverage|
            wait_for_others(coverage)
            break if coverage.cover(@since, sent).nil?
          end
        end

        # A listener of another process that was there before this one covers the time until this one began.
        def wait_for_others(coverage)
          return if coverage.covered >= @since || !coverage.shared? || !coverage.trusted?
          deadline = Clock.monotonic + PATIENCE_SECONDS
          sleep POLL_SECONDS while coverage.covered < @since && Clock.monotonic < deadline
        end
      end
    end
  end
end
