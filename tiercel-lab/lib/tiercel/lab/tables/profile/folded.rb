# frozen_string_literal: true

module Tiercel
  module Lab
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
      end
    end
  end
end
