# frozen_string_literal: true

module Tiercel::Lab
  module Tables
    module Profile
      # Builds a contestant, warms it up and profiles one operation, in a process of its own.
      class Recorder
        INTERVAL_US = 200
        # Rows of the profiler's table.
        TOP = "15"
        # Work between two looks at the clock.
        SLICE_NS = 20_000_000
        REMEDY = "there is no profiler: add gem \"vernier\" to the Gemfile"

        # @param text [String] text of the contestant
        # @param operation [String]
        # @param value [Hash] see {Value#to_spec}
        # @param seed [Integer]
        # @param seconds [Float]
        # @param context [Hash] see {Engine::Context}
        # @param file [String] the profiler's own output
        # @return [Hash] "status", and of a measured one "calls", "file", and "top": what the profiler says of it
        def watch(text:, operation:, value:, seed:, seconds:, context:, file:)
          Engine::Outcome.of do
            load_profiler
            arm, calibration = Engine::SingleArm.build(text:, operation:, value:, seed:, context:,
                                               prefix: "tiercel-lab:profile", slice_ns: SLICE_NS)
            made = 0
            result = Vernier.profile(interval: INTERVAL_US) { made = work(arm, calibration.calls, seconds) }
            result.write(out: file)
            arm.verify
            arm.tear_down
            { calls: made, file:, top: top(file) }
          end
        end

        private

        # The table of the profiler's own command. A listing of sources follows, which fails for code without a file.
        #
        # @return [String]
        def top(file)
          out, = Open3.capture3(RbConfig.ruby, Gem.bin_path("vernier", "vernier"), "view", "--top", TOP, file)
          out.lines.take_while { |line| line.start_with?("+", "|") }.join
        end

        def load_profiler
          require "vernier"
        rescue LoadError
          raise CannotRun, REMEDY
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

        def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      end
    end
  end
end
