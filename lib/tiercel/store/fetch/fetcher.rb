# frozen_string_literal: true

require_relative "../../coder"
require_relative "call"
require_relative "lease_round"
require_relative "slices"
require_relative "time_limit"
require_relative "wait"

module Tiercel
  module Store
    module Fetch
      # Computes the missing values of `fetch` and `fetch_multi`. A single key is a batch of one. The steps:
      #
      #   {LeaseRound}: acquire the leases that are free -> {Computation}: run the blocks, store their values
      #   {Wait}: wait for the values that other callers compute, one key after the other -> the value, or a new round
      #
      # A waiting caller of `fetch_multi` holds no lease, so callers of [a, b] and of [b, a] never wait for each other.
      # Its leases are acquired in {Slices}, just before their blocks run. With `timeout:` there is one slice, whose
      # blocks run in one thread, and all keys share one {TimeLimit}.
      #
      # @private
      class Fetcher
        MISS = Coder::MISS
        private_constant :MISS

        # @param settings [Settings]
        # @param policy [FetchPolicy] the policy of all calls
        def initialize(settings, policy)
          @settings = settings
          @limit = TimeLimit.for(policy)
        end

        # @param calls [Array<Call>] in the order of the names
        # @return [Hash{Object => Object}] names and values
        def values(calls)
          first = calls.uniq(&:key)
          values = {}
          each_slice(first) { |slice| values.update(values_without_waiting(slice, together: true)) }
          calls.to_h { |call| [call.name, values.fetch(call) { value(call) }] }
        end

        # @param flight [Flight, nil] a flight that this caller already leads
        # @param answer [Leases::Lease, Leases::Present, nil] the result of {Leases#take_absent} for that flight
        # @return [Object] the value: stored, stale, another caller's or the block's
        def value(call, flight = nil, answer = nil)
          wait = Wait.new(@settings, call, @limit) do |own, lease|
            run(Computation.new(@settings, { call => lease }, { call => own })).fetch(call)
          end
          while true # `loop` would end at a StopIteration of the block
            value = value_of_round(call, wait, flight, answer)
            return value unless Wait::AGAIN.equal?(value)
            flight = answer = nil
            call.renew_tags
          end
        end

        # @param calls [Array<Call>] calls with different keys
        # @param together [Boolean] see {Computation}
        # @return [Hash{Call => Object}] the values of the calls that no other caller computes
        def values_without_waiting(calls, together: false)
          round = LeaseRound.new(@settings, calls, together:)
          round.acquire
          compute(round)
          round.values
        ensure
          round&.leave
        end

        private

        def each_slice(calls, &)
          @limit ? yield(calls) : Slices.new(calls).each(&)
        end

        # @return [Object] the value, or {Wait::AGAIN}
        def value_of_round(call, wait, flight, answer)
          round = LeaseRound.new(@settings, [call])
          flight ? round.adopt(call, flight, answer) : round.acquire
          value = Wait::ANSWERED
          while Wait::ANSWERED.equal?(value)
            compute(round)
            value = round.values.fetch(call) { wait.value(round) }
          end
          value
        ensure
          round&.leave
        end

        def compute(round)
          computation = round.computation
          round.values.update(run(computation)) if computation
        end

        # @return [Hash{Call => Object}] the values
        def run(computation)
          return computation.run unless @limit
          stale = computation.leases.to_h { |call, lease| [call, call.stale_when_late(lease)] }
          ends_at = @limit.ends_at(stale: stale.each_value.none?(MISS))
          return computation.run unless ends_at
          values = run_in_thread(computation, ends_at)
          return late(computation, stale) if TimedBlock::LEFT.equal?(values)
          stale.each_key { |call| call.remember(nil) }
          values
        end

        # Runs the blocks in another thread. If this call reaches its time limit first, that thread continues and lands
        # the flights.
        #
        # @return [Hash{Call => Object}, TimedBlock::LEFT]
        def run_in_thread(computation, ends_at)
          computation.hand_over
          timed = TimedBlock.start(ends_at) do
            computation.run
          ensure
            leave(computation)
          end
          timed ? timed.wait(ends_at) : TimedBlock::LEFT
        ensure
          unless timed
            computation.abandon
            leave(computation)
          end
        end

        def leave(computation) = computation.flights.each { |flight| @settings.flights.leave(flight) }

        # Called when this call has reached its time limit. Returns the values that are already computed, and stale
        # values for the other keys. The other thread has not stored its values yet, so this method copies them.
        def late(computation, stale)
          done = computation.values.dup
          stale.to_h do |call, value|
            next [call, call.time_out(@limit, value)] unless done.key?(call)
            frame = call.copy(done[call])
            [call, frame ? call.value_of_copy(frame) : done[call]]
          end
        end
      end
    end
  end
end
