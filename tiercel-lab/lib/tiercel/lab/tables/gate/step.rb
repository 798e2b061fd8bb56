# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Gate
        # A step of a gate. All steps have the same cells and sides.
        class Step
          # @param cells [Array<GatedCell>]
          # @param trees [Array<Tree>] base and head
          # @param run [Engine::Run]
          # @param configuration [Configuration]
          # @param settings [CLI::Settings]
          def initialize(cells, trees, run:, configuration:, settings:)
            @cells = cells
            @trees = trees
            @run = run
            @configuration = configuration
            @settings = settings
          end

          private

          # @return [Hash] arguments for {Engine::Trial#initialize}
          def inputs = { seed: @settings.seed, requires: @settings.requires }
        end
      end
    end
  end
end
