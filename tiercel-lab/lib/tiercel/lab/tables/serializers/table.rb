# frozen_string_literal: true

require_relative "../table"
require_relative "fidelity"

module Tiercel
  module Lab
    module Tables
      # The tables of serializers of the first article, and the types that each serializer does not keep.
      module Serializers
        class Table < Tables::Table
          called "serializers", "Speed and size of serializers, and the types they lose."
          example "serializers --quick", "serializers", "serializers --serializer marshal,auto --value rows-50",
                  "serializers --data exports"
          takes :quick, :seed, :cells, :data
          in_all 40
          quick blocks: 3, slice_ns: 6_000_000, budget_seconds: 50
          full processes: 4, most_processes: 8, blocks: 6, budget_seconds: 180

          QUICK_VALUES = %w[books rows-50].freeze
          VALUES = %w[books-1mb books rows-50].freeze
          OPERATIONS = %w[dump load dump_load].freeze
          # The approximate time to probe one serializer.
          FIDELITY_SECONDS = 0.5

          def options(parser)
            things parser, "--serializer", Serialization, :serializers, "see `help serializers` (all)"
            value_option(parser, default: VALUES.join(", "))
          end

          def plan
            contestants = parse_all(serializers.map { |library| "serializer:#{library.name}" })
            values = chosen_values(settings.quick ? QUICK_VALUES : VALUES, parse: true)
            comparisons_of(values, OPERATIONS.map { |name| Operations.fetch(name) }, contestants)
          end

          def take(comparisons)
            super
            run.watch(serializers.size * FIDELITY_SECONDS) do |progress|
              rows = serializers.map do |library|
                Serialization::Fidelity.new(library).to_h.tap do
                  progress.advance(FIDELITY_SECONDS, "what #{library.name} loses")
                end
              end
              run.table("fidelity", rows)
            end
          end

          private

          # The baseline comes first.
          def serializers
            baseline = Serialization.fetch(Serialization::BASELINE)
            [baseline, *facts_given.fetch(:serializers, Serialization.all)].uniq(&:name)
          end
        end
      end

      add Serializers::Table
    end
  end
end
