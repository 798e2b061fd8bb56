# frozen_string_literal: true

require_relative "../../coder"
require_relative "../../frame"
require_relative "fetcher"
require_relative "flights"

module Tiercel
  module Store
    module Fetch
      # The misses of `fetch` and `fetch_multi`. The {Fetcher} computes the values.
      #
      # The usual miss has one absent key that no other caller computes. It takes the same steps here with fewer objects
      # (adr/022). The Fetcher serves all other cases, such as a lease of another caller or a stale value. Two kinds of
      # `fetch` have a usual miss: a `fetch` after its own read, and a `fetch` that reads and acquires the lease in one
      # trip ({FastPath::ReadAndTake}).
      #
      # @private
      module Misses
        # The result for a key with a flight of another caller.
        ELSEWHERE = Coder::Signal.new("ELSEWHERE")

        # Runs a block within its event.
        #
        # @private
        # @param options [Hash] the event's options
        # @return [Object] the block's value
        def run_block(name, key, options, &)
          return yield unless heard?(Events::GENERATE)
          instrument(:generate, event_key(name, key, options), options) { yield }
        end

        # Stores a block's value under its lease, inside the event of a write.
        #
        # @private
        # @param lease [Leases::Lease, nil] nil if nothing may be stored
        # @param flight [Flight] the flight that computed the value
        # @param version [String, nil] the call's version
        # @param options [Hash] the call's merged options
        # @param own [Hash] the options after the block, which may have changed them
        # @return [Boolean] whether it is stored
        def store_value(value, lease, flight, name, version, options, own, policy)
          return false if value.nil? && own[:skip_nil]
          jitter = own[:expires_in] == options[:expires_in] # an expiry that the block has set gets no jitter
          unless own.equal?(options) || own == options
            own = merged_options(own)
            version = normalize_version(name, own)
          end
          return fill_lease(value, lease, flight, version, own, policy, jitter) unless heard?(Events::WRITE)
          instrument(:write, event_key(name, flight.key, own), own) do
            fill_lease(value, lease, flight, version, own, policy, jitter)
          end
        end

        private

        # @param found [Accessor::Found, nil] the unusable entry that the read has found
        # @param flight [Flight, nil] see {Fetcher#value}
        # @param answer [Object] see {Fetcher#value}
        # @param storing [Proc, nil] see {Fetch#fetch_missing}
        def miss(name, key, version, options, policy, found: nil, flight: nil, answer: nil, storing: nil, &)
          call = Call.new(self, @settings, name, key, version, options, policy, found:, &)
          call.storing = storing
          value = Fetcher.new(@settings, policy).value(call, flight, answer)
          given = true
          value
        ensure
          notify(call, given || false) if call && (call.trace || !call.computed?)
        end

        # @param useless [Hash{String => Accessor::Found}] the unusable entries that the read has found, by key
        # @return [Hash{Object => Object}] names and values
        # @param pass_options [Boolean] whether the block gets the options of the write, too
        def miss_multi(names, keys, versions, options, policy, useless: {}, pass_options: false)
          calls = names.each_index.map do |index|
            key = keys[index]
            found = useless[key]
            Call.new(self, @settings, names[index], key, versions[index], options, policy, found:) do |name, given|
              pass_options ? yield(name, given) : yield(name)
            end
          end
          values = Fetcher.new(@settings, policy).values(calls)
          given = true
          values
        ensure
          calls&.each { |call| notify(call, given || false) if call.trace || !call.computed? }
        end

        # --- the usual miss ---

        # @param unread [Boolean] whether the key is read in the trip that acquires its lease
        # @yield the block of `fetch`
        # @return [Object] the value; or, with `unread`, {ELSEWHERE} or the {Accessor::Found} of an existing entry
        def miss_uncontended(name, key, version, options, policy, unread: false, &)
          key = key.dup.freeze unless key.frozen? # one copy for all objects that keep the key
          flight = Flight.new(@settings.backend, key, version)
          kept = version && Frame::Version.kept(version)
          own = @settings.leases.own(key, policy.lease_ttl, kept)
          unless @settings.flights.board(flight, nil, alone: unread, lease: own).equal?(flight)
            own = nil # it was never sent
            return unread ? ELSEWHERE : miss(name, key, version, options, policy, &)
          end
          # CRuby checks for interrupts at branches. No branch may lie between a call and its assignment: without an own
          # lease, an interrupt there would lose the lease.
          if own then answer = @settings.leases.take_absent(key, policy.lease_ttl, kept, own)
          elsif unread then answer = @settings.leases.ask(key, policy.lease_ttl, kept)
          else answer = @settings.leases.take_absent(key, policy.lease_ttl, kept)
          end
          lease = Leases::Lease === answer
          return compute_uncontended(flight, answer, name, options, &) if lease && answer.begun?
          return Accessor::Found.new(answer.bytes, answer.token) if unread && answer && !lease
          @settings.flights.discount(flight)
          miss(name, key, version, options, policy, flight:, answer:, &)
        ensure
          give_up(flight, answer || own) unless flight.nil? || flight.landed?
        end

        # Cleans up after a thread that was killed between two steps, or after a caller that has joined another flight.
        def give_up(flight, answer)
          @settings.leases.release(answer) if Leases::Lease === answer
        ensure
          @settings.flights.leave(flight)
        end

        def compute_uncontended(flight, lease, name, options)
          @settings.flights.begin(flight, lease)
          @settings.reader.remember(flight.key, nil) if @settings.request_local
          stored = false
          value = Flights.hold([flight].freeze) do |outermost|
            given = Tags::WriteOptions::CopiedWhenSet.new(@shares_options ? options : options.dup, self)
            made = run_block(name, flight.key, options) { Observer.timed(flight.key) { yield(name, given) } }
            own = given.options
            stored = store_uncontended(flight, lease, name, made, options, own, outermost)
            flight.tags = own[:tags]
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

        # @param own [Hash] the options after the block
        # @param outermost [Boolean] false inside the block of another fetch
        # @return [Boolean] whether the value is stored
        def store_uncontended(flight, lease, name, value, options, own, outermost)
          if outermost && value.instance_of?(String) && own == options && !heard?(Events::WRITE)
            stored = fill_string(flight, lease, value, options)
            @settings.writer.warn_if_deleted(flight) if stored == false
            return stored unless stored.nil?
          end
          store_value(value, lease, flight, name, flight.wanted, options, own, @settings.policy)
        end

        # Stores a plain String without creating a frame in Ruby: a segment creates the frame itself. No subscriber and
        # no other caller may need the frame.
        #
        # @return [Boolean, nil] nil if {#store_value} has to store the value
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

        # Passes a copy of the value to the callers that joined the flight.
        def finish_uncontended(flight, value, landed)
          return unless @settings.flights.finish(flight, landed)
          frame = @settings.reader.copy(value)
          frame ? flight.land(:frame, frame) : flight.land(:value, value)
        end

        def fill_lease(value, lease, flight, version, options, policy, jitter)
          writer = @settings.writer
          bytes = writer.frame(value, version, options, policy, jitter:)
          bytes = writer.exclusive(bytes) if bytes && options[:unless_exist] && !options[:raw]
          writer.fill(lease, flight, bytes, writer.fill_ttl(options, policy), unless_exist: options[:unless_exist])
        end
      end
    end
  end
end
