# frozen_string_literal: true

require "json"
require_relative "../../engine/arm"
require_relative "../../engine/calibration"
require_relative "../../engine/context"
require_relative "../../engine/outcome"
require_relative "folded"

module Tiercel
  module Lab
    module Tables
      module Profile
        # In a process of its own: builds a contestant, warms it up and watches one operation on it.
        class Recorder
          INTERVAL_US = 200
          # Calls between two looks at the clock, in seconds of work.
          SLICE_NS = 20_000_000
          REMEDY = "add gem \"vernier\" (or \"stackprof\") to the Gemfile"

          # @param text [String] of the contestant
          # @param operation [String]
          # @param value [Hash] see {Value#to_spec}
          # @param seed [Integer]
          # @param seconds [Float]
          # @param context [Hash] see {Engine::Context}
          # @param file [String] what the profiler itself writes
          # @param profiler [String, nil] "vernier" or "stackprof"; nil: the first that is there
          # @return [Hash] "status", and of a measured one "folded", "profiler", "calls", "file"
          def watch(text:, operation:, value:, seed:, seconds:, context:, file:, profiler: nil)
            Engine::Outcome.of do
              profiler ||= available
              arm, calls = prepare(text, operation, value, seed, context)
              made = 0
              folded = send(profiler, file) { made = work(arm, calls, seconds) }
              arm.verify
              arm.tear_down
              { folded:, profiler:, calls: made, file: }
            end
          end

          private

          def available
            %w[vernier stackprof].find do |name|
              require name
              true
            rescue LoadError
              false
            end || raise(CannotRun, "there is no profiler: #{REMEDY}")
          end

          def prepare(text, operation, value, seed, context)
            contestant, operation = Contestants.parse(text), Operations.fetch(operation)
            value = Values.from_spec(value.transform_keys(&:to_s))
            why = operation.unsuitable(value) and raise CannotRun,
              "#{operation.name} does not suit #{value.name}: #{why}"
            operation.enter
            arm = Engine::Arm.new(id: 0, contestant:, operation:, value:, prefix: "tiercel-lab:profile",
                                  values: value.generate(seed).each(&:freeze),
                                  context: Engine::Context.for(operation, value, **context))
            arm.prepare
            calibration = Engine::Calibration.new(arm, slice_ns: SLICE_NS, value:)
            calibration.warm_up(nil)
            arm.verify
            [arm, calibration.calls]
          end

          def work(arm, calls, seconds)
            until_at = now + seconds
            made = 0
            while now < until_at
              arm.operation.before_slice(arm, calls) if arm.operation.prepared?
              arm.run(calls)
              made += calls
            end
            made
          end

          # Writes what the Firefox profiler opens.
          def vernier(file, &)
            require "vernier"
            result = Vernier.profile(interval: INTERVAL_US, &)
            result.write(out: file)
            Folded.from_vernier(result)
          end

          # Writes its report as JSON, which speedscope opens.
          def stackprof(file, &)
            require "stackprof"
            report = StackProf.run(mode: :wall, interval: INTERVAL_US, raw: true, &)
            File.write(file, JSON.generate(report))
            Folded.from_stackprof(report)
          end

          def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        end
      end
    end
  end
end
