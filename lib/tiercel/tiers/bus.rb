# frozen_string_literal: true

require "weakref"

require_relative "../backend"
require_relative "../clock"
require_relative "../errors"
require_relative "../forks"
require_relative "../segment/notice"
require_relative "bus/listener"
require_relative "uses"

module Tiercel
  class Tiers < Backend
    # Deletes the near copies of what others change in the last tier: other machines, and other programs. Two processes
    # of a machine listen; together they cover its near tiers ({Coverage}), so that one that ends, or is slow, leaves no
    # gap while the other one listens. (`memory:` as the nearest tier is one process's own, which listens itself.)
    #
    # Each process that reads has a thread that keeps one of the two seats, or waits for one. A process with a seat has
    # one more, which reads ({Listener}). The first read that misses near starts them, and the next one after a fork.
    #
    # Where the last tier cannot send changes, copies live as long as without a bus, a second at most.
    #
    # @private
    class Bus
      # Between two questions to the server.
      INTERVAL_SECONDS = 2.0
      # Of an interval, between two looks at seat and question.
      TICK = 0.125
      # Looks for which a listener goes on that has lost its seat, while its successor begins.
      LINGER = 8
      # A process that waits so long for the interpreter's lock, several times in a row, gives its seat away.
      LATE_SECONDS = 0.02
      LATE_TICKS = 3
      MOST_LATE_TICKS = 6
      # Between two tries to subscribe: so long at first, then twice as long each time, up to the second of these.
      FIRST_PAUSE_SECONDS = 0.05
      LONGEST_PAUSE_SECONDS = 2.0
      # After a refusal.
      REFUSED_PAUSE_SECONDS = 60.0
      # So many failures in a row are reported: copies are not trusted by then.
      REPORTED_FAILURE = 6
      # So many changes of the server within so many seconds are no failover: several servers answer at one address.
      SEVERAL_SERVERS = 3
      SEVERAL_SERVERS_SECONDS = 600.0
      # Keys a second of which a listener without a prefix is to hear before it says what that costs.
      MANY_KEYS = 1_000
      # Entries of a near tier that are looked at in an interval, and buckets, for keys that were read there.
      USED_ENTRIES = 2_048
      USED_BUCKETS = USED_ENTRIES * 8
      # Between two tries to reach the server that is listened to.
      RENEWAL_SECONDS = 1.0
      private_constant :INTERVAL_SECONDS, :TICK, :LINGER, :LATE_SECONDS, :LATE_TICKS, :MOST_LATE_TICKS,
                       :FIRST_PAUSE_SECONDS, :LONGEST_PAUSE_SECONDS, :REFUSED_PAUSE_SECONDS, :REPORTED_FAILURE,
                       :SEVERAL_SERVERS, :SEVERAL_SERVERS_SECONDS, :MANY_KEYS, :USED_ENTRIES, :USED_BUCKETS,
                       :RENEWAL_SECONDS

      # @return [Float] seconds between two questions to the server
      attr_accessor :interval

      # @param far [Backend] the last tier, whose `subscription` sends changes
      # @param nears [Array<Near>] nearest first, all of them with a {Coverage}
      def initialize(far, nears)
        @far = far
        @nears = nears.map { |near| WeakRef.new(near) } # a store that nobody has any more listens no longer
        @coverages = nears.map(&:coverage)
        @uses = nears.map { |near| Uses.new(near.backend.segment, far) }
        @nearest = @coverages.first.segment
        @farthest = @coverages.last.segment
        @interval = INTERVAL_SECONDS
        @servers = far.watch_servers
        @renewed_at = -RENEWAL_SECONDS
        @late = 0
        @moves = []
        @lock = Mutex.new
      end

      # @param prefix [String] of the keys that the server is to send
      # @return [void]
      def prefix=(prefix)
        @prefix = @servers.prefix = prefix
      end

      # Sees to it that this process listens, or is ready to. Never waits.
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

      # A process that only writes needs no listener: the invalidations of its own changes delete the copies of them.
      #
      # @return [void]
      def before_change = nil

      # @return [Object] for {#fill?}, after the epoch was taken and before anything is read
      def before_fill = @servers.ids

      # A connection may lead to another server than the one that is listened to: a former master, say. Nobody would
      # ever delete the copies of what is read there.
      #
      # @param seen [Object] of {#before_fill}
      # @return [Boolean] whether what was read since may become a copy
      def fill?(seen)
        server = @farthest.near_server
        return seen.equal?(@servers.ids) if seen.all?(server)
        renew unless server.zero? # nobody has listened yet
        false
      end

      # Stops listening, until the next read that misses near.
      #
      # @return [void]
      def close
        return unless Forks.current?(@process)
        thread = @lock.synchronize { @thread.tap { @thread = nil } }
        thread&.kill&.join(1) unless Thread.current.equal?(thread)
      end

      # @return [Hash{Symbol => Object}] :listening, whether this process has one of the two seats; :invalidations, keys
      #   that it was sent since then
      def stats
        listener = @listener if Forks.current?(@process)
        { listening: listener&.alive? || false, invalidations: listener&.invalidations || 0 }
      end

      private

      def renew
        now = Clock.monotonic
        return if now - @renewed_at < RENEWAL_SECONDS
        @renewed_at = now
        @far.renew
      end

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
        seat? ? listen_until_it_fails { failures = 0 } : watch
        failures
      rescue Refused => error
        refused(error)
        sleep REFUSED_PAUSE_SECONDS
        failures
      rescue StandardError => error
        failed(error, failures + 1)
      end

      def failed(error, failures)
        given_up = (several_servers?(error) || (failures >= REPORTED_FAILURE && answers?)) && refused(error)
        report(backend_error(error)) if failures == REPORTED_FAILURE && !given_up
        pause = [FIRST_PAUSE_SECONDS * (2**[failures, 10].min), LONGEST_PAUSE_SECONDS].min
        sleep(given_up ? REFUSED_PAUSE_SECONDS : pause)
        failures
      end

      def several_servers?(error)
        return false unless error.is_a?(Listener::AnotherServer)
        now = Clock.monotonic
        @moves << now
        @moves.shift while now - @moves.first > SEVERAL_SERVERS_SECONDS
        @moves.size >= SEVERAL_SERVERS
      end

      # Whether the server is there: what fails again and again then is the subscription, perhaps at a proxy that does
      # not understand it, and closes the connection or gives no answer.
      def answers?
        @far.ask("PING") && true
      rescue BackendError
        false
      end

      def wanted? = @nears.first.weakref_alive?

      # The segment's word names the processes that listen. Whether copies are trusted does not depend on it.
      def seat? = @nearest.near_listen(late?)

      def late? = @late >= LATE_TICKS

      # Others listen.
      def watch
        @nears.each(&:trust_bus) if @coverages.all?(&:trusted?)
        tick { |seconds| sleep(seconds) }
      end

      # @yield once the near tiers are covered
      def listen_until_it_fails
        without = 0
        @listener = Listener.new(@far.subscription(@prefix), @coverages, @interval)
        @listener.start
        while @listener.alive? && wanted?
          return if (without = seat? ? 0 : without + 1) > LINGER
          asked if @listener.ask(late?)
          @nears.last.settler&.wake
          tick { |seconds| @listener.wait(seconds) }
          next unless @listener.heard
          @nears.each(&:trust_bus)
          @refusal = nil
          yield
        end
        return unless wanted?
        raise @listener.error || Unavailable.new("the listener was killed", backend: @far.to_s)
      ensure
        @listener.close
      end

      # One process of the machine asks, about once in an interval.
      def asked
        @uses.each { |uses| uses.tell(USED_ENTRIES, USED_BUCKETS) }
        keys, @keys_before = @listener.invalidations - (@keys_before || 0), @listener.invalidations
        return if @prefix || @told_many || keys < MANY_KEYS * @interval
        @told_many = true
        Segment::Notice.warn("#{@far} sends #{keys} changed keys in #{@interval} s, those of other applications too, " \
                             "to two processes of each machine: with namespace: it sends the keys of this store alone")
      end

      # @yieldparam seconds [Float] to wait
      def tick
        seconds = @interval * TICK
        due_at = Clock.monotonic + seconds
        yield seconds
        late = Clock.monotonic - due_at > LATE_SECONDS
        @late = (@late + (late ? 1 : -1)).clamp(0, MOST_LATE_TICKS)
      end

      # Copies that live longer may be there as long as others listen, or did lately: those are trusted by what is
      # heard, as before; but not where several servers answer, who would all hear of their own changes alone. It is
      # tried again for as long as the process lives, and said once.
      #
      # @return [Boolean] whether copies live by their TTL from now on
      def refused(error)
        return false if @nears.any?(&:covered_lately?) && !error.is_a?(Listener::AnotherServer)
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
