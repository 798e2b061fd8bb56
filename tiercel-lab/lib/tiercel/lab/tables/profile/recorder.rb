# frozen_string_literal: true

module Tiercel::Lab
  module Tables
    module Profile
      # Folds the samples of a profiler into stacks: frames joined by ";", the caller first, with their number.
      module Folded
        # This frame calls the timed loop; the frames above belong to the lab.
        LAB = /Arm#run\z/
        LOOP = "loop"

        module_function

        # @param result [Vernier::Result]
        # @return [Hash{String => Integer}] samples of the main thread by stack
        def from_vernier(result)
          thread = result.main_thread
          names = Hash.new { |known, index| known[index] = result.stack(index).frames.map(&:label).reverse }
          thread[:samples].zip(thread[:weights]).each_with_object(Hash.new(0)) do |(index, weight), sums|
            add(sums, names[index], weight)
          end
        end

        # Drops the frames of the lab, and samples outside of the timed loop.
        def add(sums, names, weight)
          lab = names.rindex { |name| name.match?(LAB) } or return
          below = names.drop(lab + 2).map { |name| clean(name) }
          sums[[LOOP, *below].join(";")] += weight
        end
        private_class_method :add

        # Removes addresses, which differ between runs, and ";", which separates frames.
        def clean(name) = name.gsub(/0x\h+/, "0x").tr(";", ",")
        private_class_method :clean
      end

      # Builds a contestant, warms it up and profiles one operation, in a process of its own.
      class Recorder
        INTERVAL_US = 200
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
        # @return [Hash] "status", and of a measured one "folded", "calls", "file"
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
            { folded: Folded.from_vernier(result), calls: made, file: }
          end
        end

        private

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
