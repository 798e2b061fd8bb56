# frozen_string_literal: true

require "weakref"

require_relative "../backend"
require_relative "../errors"
require_relative "../forks"
require_relative "bus/listener"

module Tiercel
  class Tiers < Backend
    # Tells the near tiers of a stack what others change in the last one: other machines, and other programs. Each
    # process that reads has a listener of its own; together they cover the machine's near tiers ({Coverage}), so that
    # one that ends, or is slow, leaves no gap while another listens.
    #
    # Two threads: one reads ({Listener}); this one keeps it going, and sees to the heartbeats. They are started by the
    # first read that misses near, and again by the next one after a fork or where they were killed.
    #
    # Where the last tier cannot tell of changes, copies live as long as without a bus, a second at most.
    #
    # @private
    class Bus
      # Between two tries to subscribe: so long at first, then twice as long each time, up to the second of these.
      FIRST_PAUSE_SECONDS = 0.05
      LONGEST_PAUSE_SECONDS = 2.0
      # After a refusal.
      REFUSED_PAUSE_SECONDS = 60.0
      # So many in a row are reported: copies are not trusted by then.
      REPORTED_FAILURE = 6
      # A heartbeat that has not come back by then is none that the server tells of.
      SILENCE_SECONDS = 10.0
      # Of a new segment.
      FIRST_GAP = 1
      private_constant :FIRST_PAUSE_SECONDS, :LONGEST_PAUSE_SECONDS, :REFUSED_PAUSE_SECONDS, :REPORTED_FAILURE,
                       :SILENCE_SECONDS, :FIRST_GAP

      # @return [Float] seconds between two heartbeats
      attr_accessor :interval

      # @param far [Backend] the last tier, whose `subscription` tells of changes
      # @param nears [Array<Near>] nearest first, all of them with a {Coverage}
      def initialize(far, nears)
        @far = far
        @nears = nears.map { |near| WeakRef.new(near) } # a store that nobody has any more listens no longer
        @coverages = nears.map(&:coverage)
        @farthest = @coverages.last.segment # where a gap is noticed first
        @interval = Heartbeat::INTERVAL_SECONDS
        @lock = Mutex.new
      end

      # Sees to it that this process listens. Never waits.
      #
      # @return [true] this process is told of what others change
      def listen
        return true if Forks.current?(@process) && @thread&.alive?
        return true unless @lock.try_lock
        begin
          start unless Forks.current?(@process) && @thread&.alive?
        ensure
          @lock.unlock
        end
        true
      end

      # Who only writes needs no listener: the news of his own changes takes the copies that they leave anyhow.
      #
      # @return [void]
      def before_change = nil

      # Where nobody listened for a while, another server may be the last tier's by now, and a connection of before lead
      # to the one that it was: what is read there may be older than what nobody was told of.
      #
      # @return [void]
      # @raise [BackendError] where there is no segment
      def before_fill
        gaps = @farthest.near_gaps
        return if gaps == @gaps
        @far.renew if gaps > FIRST_GAP
        @gaps = gaps
      end

      # Stops listening, until the next read that misses near.
      #
      # @return [void]
      def close
        return unless Forks.current?(@process)
        thread = @lock.synchronize { @thread.tap { @thread = nil } }
        thread&.kill&.join(1) unless Thread.current.equal?(thread)
      end

      # @return [Hash{Symbol => Object}] :listening, whether this process does; :invalidations, keys that it was told of
      #   since it began
      def stats
        listener = @listener if Forks.current?(@process)
        { listening: listener&.alive? || false, invalidations: listener&.invalidations || 0 }
      end

      private

      # Fiber storage is not inherited: what is held around the caller is no business of this thread.
      def start
        @process = Forks.current
        @listener = nil # of the parent, whose connection it is
        Fiber.new(storage: {}) do
          @thread = Thread.new { run }
          @thread.name = "tiercel bus"
          @thread.thread_variable_set(:fork_safe, true) # Puma warns of others when it forks its workers
          @thread.report_on_exception = false
        end.resume
      end

      def run
        failures = 0
        failures = attempt(failures) while wanted?
      end

      # @param failures [Integer] in a row
      # @return [Integer] with this one
      def attempt(failures)
        listen_until_it_fails { failures = 0 }
        failures
      rescue Refused => error
        refused(error)
        sleep REFUSED_PAUSE_SECONDS
        failures
      rescue StandardError => error
        failures += 1
        given_up = failures >= REPORTED_FAILURE && answers? && refused(error)
        report(backend_error(error)) if failures == REPORTED_FAILURE && !given_up
        pause = [FIRST_PAUSE_SECONDS * (2**[failures, 10].min), LONGEST_PAUSE_SECONDS].min
        sleep(given_up ? REFUSED_PAUSE_SECONDS : pause)
        failures
      end

      # Whether the server is there: what fails again and again then is the subscription, perhaps at a proxy that cuts
      # off, or does not answer, whom it does not understand. Of several servers one may be away.
      def answers?
        return false if @far.several_servers?
        @far.get(Heartbeat::PREFIX)
        true
      rescue BackendError
        false
      end

      def wanted? = @nears.first.weakref_alive?

      # @yield once an echo has come
      def listen_until_it_fails
        @listener = Listener.new(@far.subscription, @coverages)
        @listener.start
        while @listener.alive? && wanted?
          @nears.last.settler&.wake
          @listener.beat(@interval)
          @listener.wait(@interval / 4)
          next check_silence unless @listener.heard
          @nears.each(&:trust_bus)
          @refusal = nil
          yield
        end
        return unless wanted?
        raise @listener.error || Unavailable.new("the listener was killed", backend: @far.to_s)
      ensure
        @listener.close
      end

      def check_silence
        return if @far.several_servers? || !@listener.silent_for?(SILENCE_SECONDS)
        raise Unavailable.new("no heartbeat came back in #{SILENCE_SECONDS} s", backend: @far.to_s)
      end

      # Copies that live longer may be there as long as others listen, or did lately: those are trusted by what is
      # heard, as before. It is tried again for as long as the process lives, and said once.
      #
      # @return [Boolean] whether copies live by their TTL from now on
      def refused(error)
        return false if @nears.any?(&:covered_lately?)
        @nears.reverse_each(&:trust_ttl)
        return true if @refusal == error.message
        @refusal = error.message
        report(Refused.new("it does not tell of changes (#{error.message}), so near copies live " \
                           "#{@nears.map(&:ttl).min} s: docs/tiers.md says what a user has to be allowed",
                           backend: @far.to_s))
        true
      end

      def backend_error(error)
        return error if error.is_a?(BackendError)
        Unavailable.new("#{error.class}: #{error.message}", backend: @far.to_s)
      end

      def report(error)
        @nears.first.guard.call(:listen) { raise error }
      end
    end
  end
end
