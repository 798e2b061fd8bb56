# frozen_string_literal: true

require "weakref"

module Tiercel
  # Deletes near copies of keys that other machines or programs change in the last tier. On each machine, two
  # processes listen and cover the near tier together ({Coverage}). One of the two may exit or be slow without a gap. A
  # process with `memory:` as its near tier listens for itself.
  #
  # Two seats exist for listeners. Each reading process has a thread that holds a seat or waits for one; the first
  # near miss starts the thread, also after a fork. In a process with a seat, a second thread reads the subscription
  # ({Listener}).
  #
  # If the last tier sends no messages, copies live a second at most, as without a bus.
  #
  # @private
  class Tiers::Bus
    # Seconds between two queries to the server. A reply proves that all earlier messages have arrived.
    INTERVAL_SECONDS = 2.0
    # The fraction of an interval after which the bus checks its seat and whether a query is due.
    TICK = 0.125
    # A tick that takes this much longer than planned has waited for Ruby's lock. After several late ticks the process
    # gives up its seat.
    LATE_SECONDS = 0.02
    LATE_TICKS = 3
    MOST_LATE_TICKS = 6
    # The pause after a failed subscription doubles with each failure in a row, up to the longest.
    FIRST_PAUSE_SECONDS = 0.05
    LONGEST_PAUSE_SECONDS = 2.0
    # The pause after the server has refused the subscription.
    REFUSED_PAUSE_SECONDS = 60.0
    # The bus reports this many failures in a row. At that point copies are no longer trusted, or several servers answer
    # at one address: a failover causes one failure.
    REPORTED_FAILURE = 6
    # A failure after this time begins a new row.
    SOUND_SECONDS = 60.0
    # In each interval the bus looks for used keys in this many entries and buckets of the near tier.
    USED_ENTRIES = 2_048
    USED_BUCKETS = USED_ENTRIES * 8
    # Seconds between two reconnections of the pool to the listener's server.
    RENEWAL_SECONDS = 1.0
    private_constant :INTERVAL_SECONDS, :TICK, :LATE_SECONDS, :LATE_TICKS, :MOST_LATE_TICKS, :FIRST_PAUSE_SECONDS,
                     :LONGEST_PAUSE_SECONDS, :REFUSED_PAUSE_SECONDS, :REPORTED_FAILURE, :SOUND_SECONDS, :USED_ENTRIES,
                     :USED_BUCKETS, :RENEWAL_SECONDS

    # @return [Float] seconds between two queries to the server
    attr_accessor :interval

    # @param last [Backend] the last tier, whose `subscription` sends changes
    # @param near [Near] a near tier with a {Coverage}
    def initialize(last, near)
      @last = last
      @near = WeakRef.new(near) # the thread ends when the application drops the store
      @coverage = near.coverage
      @segment = near.backend.segment
      @interval = INTERVAL_SECONDS
      @servers = last.watch_servers
      @renewed_at = -RENEWAL_SECONDS
      @late = 0
      @thread = BackgroundThread.new("tiercel bus", &method(:run)) # a block would keep `near` alive
    end

    # @param prefix [String] prefix of the keys that the server sends
    def prefix=(prefix)
      @prefix = @servers.prefix = prefix
    end

    # Starts to listen, or to wait for a seat. Returns at once.
    #
    # @return [true] this process receives the changes of other machines
    def listen
      @thread.start
      true
    end

    # @return [Boolean] whether the last tier sends a message about each change, also to the process that changed it
    def messages? = true

    # A process that only writes needs no listener, because it deletes the copies of its own changes. But the
    # process's connections must lead to the server of the machine's listeners.
    def before_change = follow_listeners

    # @return [Object] the argument of {#fill?}; read after the epoch and before the read
    def before_fill = @servers.ids

    # Messages come from the listener's server alone, so a value from another server must not become a copy.
    #
    # @param seen [Object] the result of {#before_fill}
    # @return [Boolean] whether a value that was read since may become a copy
    def fill?(seen)
      return seen.equal?(@servers.ids) if seen.all?(@segment.near_server)
      follow_listeners
      false
    end

    # Stops listening, until the next near miss.
    def close = @thread.stop

    # @return [Hash{Symbol => Object}] :listening, whether this process has one of the two seats; :invalidations, the
    #   keys that the server has sent to it since then
    def stats
      listener = @listener if @thread.running?
      { listening: listener&.alive? || false, invalidations: listener&.invalidations || 0 }
    end

    private

    # Replaces this process' connections if one of them leads to another server than the listener's. A demoted master,
    # for example, may return old values.
    def follow_listeners
      server = @segment.near_server
      return if server.zero? || @servers.ids.all?(server) # 0: no listener has begun yet
      now = Clock.monotonic
      return if now - @renewed_at < RENEWAL_SECONDS
      @renewed_at = now
      @last.renew
    end

    def run
      @failures = 0
      attempt while wanted?
    end

    def attempt
      began_at = Clock.monotonic
      seat? ? listen_until_it_fails : wait_for_seat
    rescue Refused => error
      refused(error)
      sleep REFUSED_PAUSE_SECONDS
    rescue StandardError => error
      @failures = 0 if Clock.monotonic - began_at > SOUND_SECONDS
      failed(error, @failures += 1)
    end

    # @param failures [Integer] number of failures in a row
    def failed(error, failures)
      given_up = failures >= REPORTED_FAILURE && answers? && refused(error)
      report(error) if failures == REPORTED_FAILURE && !given_up
      pause = [FIRST_PAUSE_SECONDS * (2**[failures, 10].min), LONGEST_PAUSE_SECONDS].min
      sleep(given_up ? REFUSED_PAUSE_SECONDS : pause)
    end

    # If the server answers other calls, the subscription itself fails: a proxy may not support it, or several servers
    # may answer in turn.
    def answers?
      @last.ask("PING") && true
    rescue BackendError
      false
    end

    def wanted? = @near.weakref_alive?

    # The segment stores which processes hold a seat. Trust in copies does not depend on it.
    def seat? = @segment.near_listen(late?)

    def late? = @late >= LATE_TICKS

    # Two other processes hold the seats.
    def wait_for_seat
      @near.trust_bus if @coverage.trusted?
      tick { |seconds| sleep(seconds) }
    end

    def listen_until_it_fails
      listener = @listener = Listener.new(@last.subscription(@prefix), @coverage, @interval)
      listener.start
      while wanted? && seat?
        raise listener.error || Unavailable.new("the listener was killed", backend: @last.to_s) unless listener.alive?
        tell_uses if listener.ask(late?)
        tick { |seconds| listener.wait(seconds) }
        next unless listener.covered?
        @near.trust_bus
        @refusal = nil
      end
    ensure
      listener&.close
    end

    # Reports near hits to a server that evicts by use. Near hits do not reach the server, which would otherwise evict
    # the entries that are read most. The segment counts hits for its own eviction, so the report adds nothing to a hit.
    def tell_uses
      return unless @last.uses_wanted?
      @cursor, keys = @segment.used_keys(@cursor, USED_ENTRIES, USED_BUCKETS)
      @last.used(keys) unless keys.empty?
    rescue BackendError
      @cursor = nil # the near tier's own calls report the failure
    end

    # @yieldparam seconds [Float] the time to wait
    def tick
      seconds = @interval * TICK
      due_at = Clock.monotonic + seconds
      yield seconds
      late = Clock.monotonic - due_at > LATE_SECONDS
      @late = (@late + (late ? 1 : -1)).clamp(0, MOST_LATE_TICKS)
      follow_listeners
    end

    # Handles a refused subscription. If another process still listens, or did until recently, copies are trusted, and
    # nothing changes. If several servers answer, each sends only its own changes, so copies must be short-lived. The
    # bus tries again as long as the process lives, and reports each reason once.
    #
    # @return [Boolean] whether copies are read until they expire from now on
    def refused(error)
      return false if @coverage.trusted? && !error.is_a?(Listener::AnotherServer)
      @near.trust_ttl
      return true if @refusal == error.message
      @refusal = error.message
      report(Refused.new("it sends no invalidation messages (#{error.message}), so near copies live #{@near.ttl} s. " \
                         "Rights: docs/tiers.md#redis-two-listeners-for-each-machine in `bundle show tiercel`",
        backend: @last.to_s))
      true
    rescue BackendError
      false # the segment does not answer, which says nothing about the server
    end

    def report(error)
      known = error.is_a?(BackendError)
      error = Unavailable.new("#{error.class}: #{error.message}", backend: @last.to_s) unless known
      @near.guard.call(:listen) { raise error }
    end

    # One subscription from beginning to end, and the thread that reads it. The thread deletes the copies of changed
    # keys, and records the time until which the near tier has received every change ("The bus" in
    # memory-model.md).
    #
    # @private
    class Listener
      # New connections lead to another server than the subscription.
      class AnotherServer < BackendError; end

      # After these parts of an interval the listener sends the next query: if it sent the last one itself; if it did,
      # and its process waits for Ruby's lock; if another process of the machine sent the last one.
      OWN_TURN = 0.95
      LATE_TURN = 0.5
      OTHER_TURN = 1.3
      # If a query has no answer after this time, while new connections get answers, the connection is dead.
      LOST_NS = 10 * Tiers::Coverage::NANOSECONDS
      private_constant :OWN_TURN, :LATE_TURN, :OTHER_TURN, :LOST_NS

      # @return [StandardError, nil] the error that ended the thread
      attr_reader :error
      # @return [Integer] keys that the server has sent
      attr_reader :invalidations

      # @param interval [Numeric] seconds between two queries
      def initialize(subscription, coverage, interval)
        @subscription = subscription
        @coverage = coverage
        @interval = interval * Tiers::Coverage::NANOSECONDS
        @invalidations = 0
        @news = Thread::Queue.new # closed when the thread ends
        @thread = BackgroundThread.new("tiercel listener") { run }
      end

      # @raise [BackendError] if the server refuses the subscription or does not answer
      def start
        @subscription.open
        @since = @coverage.now
        @proven = @coverage.segment.near_server == @subscription.server
        @thread.start
      end

      def alive? = !@news.closed? && @thread.running?

      # @return [Boolean] whether this listener has covered the near tier
      def covered? = !@covered.nil?

      # Queries the server if a query is due. At most one query is outstanding, as memory-model.md requires.
      #
      # @param late [Boolean] whether this process waits for Ruby's lock
      # @return [Boolean] whether the answer will cover the machine's near tier
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
      def wait(seconds) = @news.pop(timeout: seconds)

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

      def due?(now, late)
        return true unless @covered
        covered = @coverage.covered
        turn = covered == @covered ? (late ? LATE_TURN : OWN_TURN) : OTHER_TURN
        now - @tried >= @interval * LATE_TURN && now - covered >= @interval * turn
      end

      # @return [Boolean] false if no new connection gets an answer
      def same_server?
        @subscription.same_server? or raise AnotherServer.new("another server answers than the one that is listened to",
                                                              backend: @subscription.to_s)
      rescue Unavailable
        false
      end

      def give_up(now)
        return false if now - @asked < LOST_NS
        error = @proven ? Unavailable : Refused
        raise error.new(
          "a connection has had no answer for #{LOST_NS / Tiers::Coverage::NANOSECONDS} s, which others have",
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
        @news.push(true) # wakes the bus, so that the first query need not wait
      end

      def answered
        asked = @asked
        @asked = nil
        return if asked.nil? || earlier_listener?
        @covered = asked unless @coverage.cover(@since, asked, @subscription.server).nil?
      end

      # Another process' earlier listener covers the time until this one began.
      def earlier_listener?
        @coverage.now - @since < @interval * OTHER_TURN && @coverage.covered < @since &&
          @coverage.shared? && @coverage.trusted?
      end
    end
  end
end
