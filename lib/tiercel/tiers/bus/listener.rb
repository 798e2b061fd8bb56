# frozen_string_literal: true

require_relative "../../backend"
require_relative "../../clock"
require_relative "../../errors"
require_relative "../coverage"
require_relative "heartbeat"

module Tiercel
  class Tiers < Backend
    class Bus
      # One subscription from its begin to its end, and the threads that read it, one for each server: they put away the
      # copies of what has changed, and tell the near tiers until when they have heard of everything.
      #
      # @private
      class Listener
        # Another process of the machine that has listened all the while may be slower to say so.
        PATIENCE_SECONDS = 0.25
        # The same where a heartbeat has to be confirmed: until the other's next one is.
        CONFIRMED_PATIENCE_SECONDS = 1.5
        POLL_SECONDS = 0.01
        # Of an interval, after which a heartbeat is due.
        NEARLY = 0.95
        # The same where another process was the last one to cover the near tiers, whose turn it is then.
        ANOTHERS = 1.75
        # Of an interval, between the echoes of a heartbeat and the question that confirms it.
        SETTLED = 0.25
        private_constant :PATIENCE_SECONDS, :CONFIRMED_PATIENCE_SECONDS, :POLL_SECONDS, :NEARLY, :ANOTHERS, :SETTLED

        # @return [StandardError, nil] why it has ended
        attr_reader :error
        # @return [Boolean] whether an echo has come
        attr_reader :heard
        # @return [Integer] keys that it was told of
        attr_reader :invalidations

        # @param subscription [Backends::Redis::Subscription, Backends::Redis::ClusterSubscription]
        # @param coverages [Array<Coverage>] nearest first
        def initialize(subscription, coverages)
          @subscription = subscription
          # A copy of a nearer tier may be one of a farther tier's: that one has to go first.
          @coverages = coverages.reverse
          @segments = @coverages.map(&:segment)
          @invalidations = 0
          @heard = false
          @ended = Thread::Queue.new # closed by the first thread that ends
        end

        # @return [void]
        # @raise [BackendError] if there is no subscription to be had
        def start
          @subscription.open
          @since = now
          @threads = @subscription.streams.map { |stream| start_thread(stream) }
        end

        # @return [Boolean]
        def alive? = !@ended.closed? && !@threads.nil? && @threads.all?(&:alive?)

        # Sends a heartbeat, unless another process of the machine has done so lately, and this one has heard of it.
        #
        # @param interval [Float] seconds
        # @return [void]
        # @raise [BackendError]
        def beat(interval)
          @subscription.confirm(interval * SETTLED)
          sent = now
          return unless due?(sent, interval * Coverage::NANOSECONDS)
          @beat_at = sent
          @subscription.beat(Heartbeat.key(segment_id, sent))
        end

        # @param seconds [Float]
        # @return [Boolean] whether it has listened for so long and no echo has come
        def silent_for?(seconds) = !@heard && now - @since > seconds * Coverage::NANOSECONDS

        # @param seconds [Float]
        # @return [void]
        def wait(seconds) = @ended.pop(timeout: seconds)

        # @return [void]
        def close
          threads = (@threads || []) - [Thread.current]
          threads.each(&:kill).each { |thread| thread.join(1) }
          @subscription.close
        end

        private

        def now = @coverages.first.now

        # The farthest near tier is the one that the machine's processes have in common.
        def segment_id = @segments.first.file_id

        def start_thread(stream)
          thread = Thread.new { run(stream) }
          thread.name = "tiercel listener"
          thread.thread_variable_set(:fork_safe, true)
          thread.report_on_exception = false
          thread
        end

        # Heartbeats come every second, so silence is a failure too.
        def run(stream)
          loop { hear(stream.read(@coverages.first.trust)) }
        rescue StandardError => error
          @error ||= error
        ensure
          @ended.close
        end

        # @param sent [Integer] nanoseconds: now
        # @param interval [Float] nanoseconds
        def due?(sent, interval)
          oldest = @coverages.map(&:covered).min
          age = sent - oldest
          return oldest < @since || age >= interval * NEARLY unless @subscription.confirms?
          @heard ||= oldest >= @since
          return false if @beat_at && sent - @beat_at < interval * NEARLY
          oldest == @covered || age >= interval * ANOTHERS || (oldest < @since && !@coverages.first.shared?)
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
          @covered = sent
        end

        # A listener of another process that was there before this one covers the time until this one began.
        def wait_for_others(coverage)
          return if coverage.covered >= @since || !coverage.shared? || !coverage.trusted?
          patience = @subscription.confirms? ? CONFIRMED_PATIENCE_SECONDS : PATIENCE_SECONDS
          deadline = Clock.monotonic + patience
          sleep POLL_SECONDS while coverage.covered < @since && Clock.monotonic < deadline
        end
      end
    end
  end
end
