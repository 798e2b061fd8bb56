# frozen_string_literal: true

require_relative "arm"
require_relative "calibration"
require_relative "context"
require_relative "outcome"
require_relative "protocol"
require_relative "steady_state"
require_relative "stopwatch"

module Tiercel
  module Lab
    module Engine
      # An {Arm} inside its own process: opens it, times its slices, and closes it.
      class TimedArm
        # @param spec [Hash] id, text, operation; calls and warm_up as an earlier process found them; exact: whether
        #   objects and bytes are counted; garbage_bytes: see {#age}; head_start: slices, see {Slots.head_start}
        # @param objects [Array<Object>] values
        # @param place [Hash] servers, folders and label, see {Context#initialize}
        def initialize(spec, value:, objects:, place:, slice_ns:)
          @spec = spec
          @value = value
          @slice_ns = slice_ns
          operation = Operations.fetch(spec[:operation])
          context = Context.for(operation, value, **place, label: "#{place[:label]}-#{spec[:id]}")
          @arm = Arm.new(id: spec[:id], contestant: Contestants.parse(spec[:text]), operation:, value:, values: objects,
                         context:, prefix: format("tiercel-lab:%s:%03d", place[:label], spec[:id]))
        end

        # Builds, fills, warms up, verifies and calibrates the arm.
        #
        # @return [Hash{String => Object}] an {Outcome}
        def open
          @arm.operation.enter
          Outcome.of do
            @arm.prepare
            age
            facts.tap do |found|
              run_head_start(found["calls"])
              found["unsteady"] = true unless steady?(found["calls"])
            end
          end
        end

        # @param calls [Integer]
        # @return [Array<Integer>] the number of calls and the figures after it, see {Cell::Slice}
        def slice(calls)
          lead_in(calls)
          before, delayed_ns = @arm.server_seconds, @arm.server_delay_ns
          ns, gc_ns, cpu_ns, compiled, wait_ns, delay_ns = Stopwatch.time { @arm.run(calls) }
          server_ns = ((@arm.server_seconds - before) * 1e9).round if before
          delay_ns &&= delay_ns + @arm.server_delay_ns - delayed_ns
          [calls, ns, gc_ns, cpu_ns, compiled, server_ns, wait_ns, delay_ns]
        end

        # Verifies the arm again and tears it down.
        #
        # @return [Hash{String => Object}] an {Outcome}
        def close
          Outcome.of { @arm.verify }
        ensure
          Outcome.of { @arm.tear_down }
          @arm.operation.leave
        end

        private

        # Makes the process like one that has run for a while. It touches the memory in which Ruby lets garbage
        # accumulate, and keeps the last piece, so that malloc does not give the memory back to the system. Then it
        # makes the store's objects old. The collector would otherwise mark them in each of the first collections.
        def age
          pieces = @spec[:garbage_bytes].to_i / Protocol::GARBAGE_PIECE
          @last = Array.new(pieces) { "\0" * Protocol::GARBAGE_PIECE }.last
          Protocol::AGEING_COLLECTIONS.times { GC.start(full_mark: false) }
        end

        def facts
          calibration = Calibration.new(@arm, slice_ns: @slice_ns, value: @value)
          warm_up = calibration.warm_up(@spec[:warm_up])
          calls = @spec[:calls] || calibration.calls
          @arm.verify
          facts = { "warm_up" => warm_up, "calls" => calls }
          facts.merge!("allocations" => @arm.allocations, "exact" => stored_bytes) if @spec[:exact]
          facts
        end

        # @param calls [Integer] number of calls in a slice
        def run_head_start(calls)
          left = (@spec[:head_start].to_f * calls).floor
          while left.positive?
            part = [left, calls].min
            @arm.operation.before_slice(@arm, part) if @arm.operation.prepared?
            @arm.run(part)
            left -= part
          end
        end

        # Probes of a quarter of a slice, until their cost falls no more.
        def steady?(calls)
          part = [calls / 4, 1].max
          return true if @arm.operation.prepared?
          SteadyState.reach(least_seconds: SteadyState::LEAST_SECONDS[@arm.contestant.medium]) do
            Stopwatch.time { @arm.run(part) }.first.fdiv(part)
          end
        end

        # Returns nothing for stores that do not show their entries; the cell then has no such figure.
        def stored_bytes
          @arm.stored_bytes
        rescue StandardError
          {}
        end

        def lead_in(calls)
          return @arm.operation.before_slice(@arm, calls) if @arm.operation.prepared?
          @arm.run((calls * Protocol::LEAD_IN).floor)
        end
      end
    end
  end
end
