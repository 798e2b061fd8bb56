# frozen_string_literal: true

require "timeout"

require_relative "../../coder"
require_relative "../../frame"
require_relative "filling"
require_relative "flight"
require_relative "held"

module Tiercel
  module Store
    module Fetch
      # The usual miss: nothing is under the key, and nobody else wants it. What {Miss} does then, with fewer objects;
      # where anything else shows, a Miss goes on from there.
      #
      # @private
      module Straight
        private

        # @yield the block of `fetch`
        # @return [Object] the value
        def miss_straight(name, key, version, options, policy, &)
          key = key.dup.freeze unless key.frozen? # once, for all that keep it
          flight = Flight.new(key, version)
          return miss(name, key, version, options, policy, fast: true, &) unless @settings.flights.lead(flight)
          answer = @settings.leases.take_absent(key, policy.lease_ttl, version && Frame::Version.kept(version))
          return compute_straight(flight, answer, name, options, policy, &) if Leases::Lease === answer && answer.begun?
          miss(name, key, version, options, policy, fast: true, begun: [flight, answer], &)
        ensure
          give_up(flight, answer) unless flight.over?
        end

        # The thread was killed between two steps, or another flight was joined.
        def give_up(flight, answer)
          @settings.leases.release(answer) if Leases::Lease === answer
          @settings.flights.leave(flight)
        end

        def compute_straight(flight, lease, name, options, policy)
          filling = Filling.new(flight.key, lease, flight)
          begun = @settings.flights.begin(flight, lease)
          remember_locally(flight.key, nil)
          value = Held.with(flight) do
            own = options.dup
            made = yield(name, given = write_options(own))
            store_straight(filling, name, made, own, options, policy) unless made.nil? && own[:skip_nil]
            flight.tags = given.named
            made
          end
          landed = true
          value
        rescue StandardError => error
          flight.land(:error, error) unless error.is_a?(Timeout::Error)
          raise
        ensure
          @settings.leases.release(lease) unless filling&.stored?
          begun ? finish_straight(flight, lease, value, landed) : @settings.flights.leave(flight)
        end

        def store_straight(filling, name, value, own, options, policy)
          return filling.run { write(name, value, own) } unless own == options && fills_fast?
          fill_fast(filling, value, filling.flight.wanted, options, policy)
        end

        # Whoever has come along meanwhile is given a copy.
        def finish_straight(flight, lease, value, landed)
          return unless @settings.flights.finish(flight, lease, landed)
          frame = begin
            coder_of_copies.dump_value(value, nil, nil, false, 0)
          rescue StandardError, SystemStackError
            nil
          end
          frame ? flight.land(:frame, frame) : flight.land(:value, value)
        end
      end
    end
  end
end
