# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Scaling
        # What a crowd does: on one shared segment, or each on memory of its own (the control: what this machine lets
        # any two processes have).
        module Works
          KEYS = 1_000
          BYTES = 1_024

          # @param directory [String] for the segment's file
          # @return [Hash{String => Proc}] name and what makes the work in a process, from its index
          def self.all(directory)
            url = "shared:#{File.join(directory, "scaling.segment")}?size=64MB"
            fill(Tiercel.new(url).backend)
            {
              "loop on private memory" => ->(_) { reads(fill(Tiercel.new("memory:", size: "64MB").backend)) },
              "shared: get" => ->(_) { reads(Tiercel.new(url).backend) },
              "private set" => ->(index) { writes(Tiercel.new("memory:", size: "64MB").backend, index) },
              "shared: set" => ->(index) { writes(Tiercel.new(url).backend, index) },
            }
          end

          # The control of each work.
          CONTROLS = { "shared: get" => "loop on private memory", "shared: set" => "private set" }.freeze

          class << self
            private

            def fill(backend)
              KEYS.times { |index| backend.set("scaling/#{index}", "x" * BYTES) }
              backend
            end

            def reads(backend)
              keys = Array.new(KEYS) { |index| "scaling/#{index}" }
              index = 0
              -> { backend.get(keys[(index += 1) % KEYS]) }
            end

            def writes(backend, process)
              keys = Array.new(KEYS) { |index| "scaling/#{process}/#{index}" }
              bytes = ("y" * BYTES).b.freeze
              index = 0
              -> { backend.set(keys[(index += 1) % KEYS], bytes) }
            end
          end
        end
      end
    end
  end
end
