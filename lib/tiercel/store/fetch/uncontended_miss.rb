# frozen_string_literal: true

require_relative "../../coder"
require_relative "../../frame"
require_relative "flights"

module Tiercel
  module Store
    module Fetch
      # The usual miss: the key is absent, and no other caller computes it. These are the steps of the {Fetcher} for one
      # call, with fewer objects (adr/022). On anything else, a lease of another caller or a stale value, the Fetcher
      # goes on.
      #
      # Two kinds of `fetch` begin here: one whose read has found nothing, and one that reads and acquires in one trip
      # ({FastPath::ReadAndTake}).
      #
      # @private
      module UncontendedMiss
        # The answer for a key that has another flight.
        ELSEWHERE = Coder::Signal.new("ELSEWHERE")

        private

        # @yield the block of `fetch`
        # @return [Object] the value
        def miss_uncontended(name, key, version, options, policy, &)
          key = key.dup.freeze unless key.frozen? # once, for all that keep it
          value = lead_uncontended(name, key, version, options, policy, &)
          ELSEWHERE.equal?(value) ? miss(name, key, version, options, policy, &) : value
        end

        # @param key [String] frozen
        # @param unread [Boolean] whether the key is read in the trip that acquires its lease
        # @return [Object] the value; {ELSEWHERE}; or the {Accessor::Found} of a key that was unread and is not absent
        def lead_uncontended(name, key, version, options, policy, unread: false, &)
          flight = Flight.new(@settings.backend, key, version)
          return ELSEWHERE unless @settings.flights.board(flight, nil, alone: unread).equal?(flight)
          kept = version && Frame::Version.kept(version)
          # Nothing lies between either call and its assignment where CRuby looks for interrupts: a branch would.
          if unread
            answer = @settings.leases.ask(key, policy.lease_ttl, kept)
          else
            answer = @settings.leases.take_absent(key, policy.lease_ttl, kept)
          end
          lease = Leases::Lease === answer
          @settings.account.missed(key) if unread && (lease || answer.nil?)
          return compute_uncontended(flight, answer, name, options, &) if lease && answer.begun?
          return Accessor::Found.new(answer.bytes, answer.token) if unread && answer && !lease
          miss(name, key, version, options, policy, flight:, answer:, &)
        ensure
          give_up(flight, answer) unless flight.nil? || flight.landed?
        end

        # The thread was killed between two steps, or another flight was joined.
        def give_up(flight, answer)
          @settings.leases.release(answer) if Leases::Lease === answer
        ensure
          @settings.flights.leave(flight)
        end

        def compute_uncontended(flight, lease, name, options)
          @settings.flights.begin(flight, lease)
          @settings.reader.remember(flight.key, nil)
          stored = false
          value = Flights.hold([flight].freeze) do |outermost|
            given = Tags::WriteOptions::CopiedWhenSet.new(@shares_options ? options : options.dup, self)
            made = run_block(name, flight.key, options) { @settings.account.timed(flight.key) { yield(name, given) } }
            stored = store_uncontended(flight, lease, name, made, options, given.options, outermost)
            flight.tags = given.named
            made
          end
          landed = true
          value
        rescue StandardError => error
          flight.land_error(error)
          raise
        ensure
          @settings.leases.release(lease) unless stored
          flight.counted ? finish_uncontended(flight, value, landed) : @settings.flights.leave(flight)
        end

        # @param own [Hash] the options as the block has left them
        # @param outermost [Boolean] whether no other block is running around this one's
        # @return [Boolean] whether the value is stored
        def store_uncontended(flight, lease, name, value, options, own, outermost)
          if outermost && value.instance_of?(String) && own == options && !heard?(Events::WRITE)
            stored = fill_string(flight, lease, value, options)
            @settings.writer.warn_if_deleted(flight) if stored == false
            return stored unless stored.nil?
          end
          store_value(value, lease, flight, name, flight.wanted, options, own, @settings.policy)
        end

        # A plain String, which nobody else is to be told of, needs no frame made of it where the backend frames it.
        #
        # @return [Boolean, nil] nil where only {Fetch#store_value} can tell
        def fill_string(flight, lease, value, options)
          policy = @settings.policy
          return if flight.wanted || flight.rewritten || @settings.coder.checksum? || policy.stale_seconds
          return if @settings.request_local&.current
          threshold = compress_threshold(options)
          return if threshold && value.bytesize >= threshold
          if (expires_in = options[:expires_in])
            writer = @settings.writer
            ends = writer.end_after(writer.jittered(expires_in.to_f, policy))
            ttl = writer.fill_ttl(options, policy)
          end
          @settings.leases.fill_string(lease, value, ends, ttl)
        end

        # Callers that joined receive a copy.
        def finish_uncontended(flight, value, landed)
          return unless @settings.flights.finish(flight, landed)
          frame = @settings.reader.copy(value)
          frame ? flight.land(:frame, frame) : flight.land(:value, value)
        end
      end
    end
  end
end
