# frozen_string_literal: true

module Tiercel::Lab
  module Sides
    # Counts the cost of one call of a cell, in a process of its own. During {#run} the parent counts the traffic
    # between this process and its servers.
    class Counter
      # So many calls that one more turn of a store's housekeeping adds less than {Judgement::LEAST} to each.
      CALLS = 100
      # A pass lasts at most this long, so a slow benchmark makes fewer calls.
      SECONDS = 0.1
      # Rails does not count these either: schema queries are cached, and transactions are not queries.
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
      # @param calls [Integer, nil] calls of a pass; nil: as many as fit
      # @return [Hash] an outcome; "calls": that {#run} makes
      def open(text:, operation:, value:, seed:, context:, calls: nil)
        Engine::Outcome.of do
          @before = live_objects
          @large = Values.from_spec(value).large?
          @arm, = Engine::SingleArm.build(text:, operation:, value:, seed:, context:, prefix: "tiercel-lab:gate",
                                  slice_ns: 1_000_000)
          { calls: @calls = calls || fitting_calls }
        end
      end

      # Near copies lapse if their listener was not scheduled in time; then each read would be a trip to the server.
      # This check costs a trip itself, so the parent calls it before it counts.
      def ready
        @arm.contestant.wait_until_ready(@arm.store)
        true
      end

      # Makes one pass while the parent counts the traffic.
      def run
        prepare(@calls)
        @arm.run(@calls)
      end

      # @return [Hash] an outcome with "objects", "queries", "stored_bytes" of one call, and "kept_objects"
      def count
        Engine::Outcome.of do
          { objects: @arm.allocations(@calls) { ready }, queries: queries&.fdiv(@calls)&.round(2), stored_bytes:,
            kept_objects: (live_objects - @before).round(-3) }
        end
      end

      # Verifies the cell once more and tears it down.
      def close
        Engine::Outcome.of { @arm.verify }
      ensure
        Engine::Outcome.of { @arm.tear_down }
        @arm.operation.leave
      end

      private

      def fitting_calls
        started = Engine::Stopwatch.seconds
        prepare(1)
        @arm.run(1)
        most = @large ? 4 : CALLS
        (SECONDS / (Engine::Stopwatch.seconds - started)).floor.clamp(1, most)
      end

      def prepare(calls) = (@arm.operation.before_slice(@arm, calls) if @arm.operation.prepared?)

      # Counts the objects that live after a full collection. A million of them make every collection slower, although
      # no single call shows the cost.
      def live_objects
        GC.start
        GC.stat(:heap_live_slots)
      end

      # @return [Integer, nil] number of queries in all calls; nil without Active Record
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
        @arm.stored_bytes["stored_bytes"]
      rescue StandardError # not every store shows its stored bytes
        nil
      end
    end
  end
end
