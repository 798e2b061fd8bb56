# frozen_string_literal: true

require "json"
require_relative "../contestants"
require_relative "../operations"
require_relative "../runner/arm"
require_relative "../runner/calibration"
require_relative "../runner/context"
require_relative "../runner/stopwatch"
require_relative "../values"
require_relative "folded"

module Tiercel
  module Lab
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
        # @param context [Hash] see {Runner::Context#initialize}
        # @param file [String] what the profiler itself writes
        # @param profiler [String, nil] "vernier" or "stackprof"; nil: the first that is there
        # @return [Hash] "status", and of a measured one "folded", "profiler", "calls", "file"
        def watch(text:, operation:, value:, seed:, seconds:, context:, file:, profiler: nil)
          outcome do
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

        def outcome
          { "status" => "measured" }.merge(yield.transform_keys(&:to_s))
        rescue Missed => e
          { "status" => "misses", "reason" => e.message }
        rescue WrongValue => e
          { "status" => "wrong values", "reason" => e.message }
        rescue StandardError, ScriptError => e
          { "status" => "cannot run",
            "reason" => e.is_a?(CannotRun) ? e.message : "#{e.class}: #{e.message.lines.first.to_s.strip}" }
        end

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
          unless contestant.kind == operation.kind
            raise CannotRun, "#{operation.name} works on a #{operation.kind}, #{text} is a #{contestant.kind}"
          end
          value = Values.from_spec(value.transform_keys(&:to_s))
          why = operation.unsuitable(value) and raise CannotRun, "#{operation.name} does not suit #{value.name}: #{why}"
          operation.enter
          arm = Runner::Arm.new(id: 0, contestant:, operation:, value:, values: value.generate(seed).each(&:freeze),
                                prefix: "tiercel-lab:profile", context: context_of(context, value, operation))
          arm.prepare
          calibration = Runner::Calibration.new(arm, slice_ns: SLICE_NS, value:)
          calibration.warm_up(nil)
          arm.verify
          [arm, calibration.calls]
        end

        def context_of(context, value, operation)
          servers = context[:servers].to_h { |name, facts| [name.to_s, facts.transform_keys(&:to_s)] }
          Runner::Context.new(servers:, folders: context[:folders].transform_keys(&:to_s), label: context[:label],
                              capacity_bytes: operation.capacity_bytes,
                              written_bytes: value.approximate_bytes * operation.names_for(value))
        end

        # @return [Integer] calls made
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
