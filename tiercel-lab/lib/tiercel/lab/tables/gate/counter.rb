# frozen_string_literal: true

require_relative "../../engine/arm"
require_relative "../../engine/calibration"
require_relative "../../engine/context"
require_relative "../../engine/outcome"
require_relative "../../engine/stopwatch"
require_relative "benchmarks"

module Tiercel
  module Lab
    module Tables
      module Gate
        # In a process of its own: counts what one call of a cell costs. The parent counts what passes between it and
        # its servers, while {#run} runs.
        class Counter
          CALLS = 50
          # A slow benchmark is called less often.
          SECONDS = 0.25
          # Allocations of a concurrent thread appear in some passes, not in all.
          PASSES = 3
          # Neither does Rails count them: schema queries are cached, and transactions are not queries.
          NOT_COUNTED = %w[SCHEMA TRANSACTION].freeze

          # @return [Array<Hash>] "name" and "clock" of each benchmark
          # @param files [Array<String>]
          def list(files:)
            Engine::Outcome.of do
              Benchmarks.load(files)
              { benchmarks: Benchmarks.all.values.map { |one| { name: one.name, clock: one.clock } } }
            end
          end

          # Builds a cell, warms it up and verifies it.
          #
          # @return [Hash] an outcome; "calls": that {#run} makes
          def open(text:, operation:, value:, seed:, context:)
            Engine::Outcome.of do
              @arm = arm(text, operation, value, seed, context)
              @arm.operation.enter
              @arm.prepare
              Engine::Calibration.new(@arm, slice_ns: 1_000_000, value: @value).warm_up(nil)
              @arm.verify
              { calls: @calls = calls }
            end
          end

          # One pass, for the parent to count.
          def run
            prepare(@calls)
            @arm.run(@calls)
          end

          # @return [Hash] an outcome with "objects", "queries", "stored_bytes" of one call
          def count
            Engine::Outcome.of do
              objects = Array.new(PASSES) { objects_of(@calls) }.min - Array.new(PASSES) { objects_of(0) }.min
              { objects: per_call(objects), queries: queries && per_call(queries), stored_bytes: stored_bytes }
            end
          end

          # Verifies again, and tears down.
          def close
            Engine::Outcome.of { @arm.verify }
          ensure
            Engine::Outcome.of { @arm.tear_down }
            @arm.operation.leave
          end

          private

          def arm(text, operation, value, seed, context)
            operation, @value = Operations.fetch(operation), Values.from_spec(value)
            objects = @value.generate(seed).each(&:freeze)
            Engine::Arm.new(id: 0, contestant: Contestants.parse(text), operation:, value: @value, values: objects,
                            prefix: "tiercel-lab:gate",
                            context: Engine::Context.for(operation, @value, **context))
          end

          def calls
            started = Engine::Stopwatch.seconds
            prepare(1)
            @arm.run(1)
            most = @value.large? ? 4 : CALLS
            (SECONDS / (Engine::Stopwatch.seconds - started)).floor.clamp(1, most)
          end

          def prepare(calls) = (@arm.operation.before_slice(@arm, calls) if @arm.operation.prepared?)

          def objects_of(calls)
            prepare(calls)
            before = GC.stat(:total_allocated_objects)
            @arm.run(calls)
            GC.stat(:total_allocated_objects) - before
          end

          # @return [Integer, nil] in all calls; nil where nothing tells
          def queries
            return unless defined?(ActiveSupport::Notifications) && defined?(ActiveRecord)
            prepare(@calls)
            made = 0
            counter = lambda do |*, payload|
              made += 1 unless payload[:cached] || NOT_COUNTED.include?(payload[:name])
            end
            ActiveSupport::Notifications.subscribed(counter, "sql.active_record") { @arm.run(@calls) }
            made
          end

          def stored_bytes
            @arm.stored_bytes
          rescue StandardError # not every store lets us see
            nil
          end

          def per_call(number) = number.fdiv(@calls).round(2)
        end
      end
    end
  end
end
