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

        # StackProf's raw samples: each run of equal stacks has its depth, its frames (the caller first), and their
        # number.
        #
        # @param report [Hash] the report of `StackProf.run(raw: true)`
        # @return [Hash{String => Integer}]
        def from_stackprof(report)
          raw = report.fetch(:raw)
          names = report.fetch(:frames).transform_values { |frame| frame[:name] }
          sums, at = Hash.new(0), 0
          while at < raw.size
            depth = raw[at]
            add(sums, raw[at + 1, depth].map { |id| names.fetch(id, "?") }, raw[at + 1 + depth])
            at += depth + 2
          end
          sums
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
            arm, calibration = Engine::SingleArm.build(text:, operation:, value:, seed:, context:,
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
