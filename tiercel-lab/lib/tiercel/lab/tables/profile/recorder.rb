# frozen_string_literal: true

require "json"
require_relative "../single_arm"
require_relative "folded"

module Tiercel
  module Lab
    module Tables
      module Profile
        # Builds a contestant, warms it up and profiles one operation, in a process of its own.
        class Recorder
          INTERVAL_US = 200
          # Work between two looks at the clock.
          SLICE_NS = 20_000_000
          REMEDY = "add gem \"vernier\" (or \"stackprof\") to the Gemfile"

          # @param text [String] text of the contestant
          # @param operation [String]
          # @param value [Hash] see {Value#to_spec}
          # @param seed [Integer]
          # @param seconds [Float]
          # @param context [Hash] see {Engine::Context}
          # @param file [String] the profiler's own output
          # @param profiler [String, nil] "vernier" or "stackprof"; nil: the first installed one
          # @return [Hash] "status", and of a measured one "folded", "profiler", "calls", "file"
          def watch(text:, operation:, value:, seed:, seconds:, context:, file:, profiler: nil)
            Engine::Outcome.of do
              profiler ||= available
              arm, calibration = SingleArm.build(text:, operation:, value:, seed:, context:,
                                                 prefix: "tiercel-lab:profile", slice_ns: SLICE_NS)
              made = 0
              folded = send(profiler, file) { made = work(arm, calibration.calls, seconds) }
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

          # Writes a file for the Firefox profiler.
          def vernier(file, &)
            require "vernier"
            result = Vernier.profile(interval: INTERVAL_US, &)
            result.write(out: file)
            Folded.from_vernier(result)
          end

          # Writes the report as JSON, for speedscope.
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
