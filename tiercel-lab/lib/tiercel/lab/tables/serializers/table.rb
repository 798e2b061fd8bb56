# frozen_string_literal: true

require_relative "../table"
require_relative "fidelity"
require_relative "../../serialization"
require_relative "stores"
require_relative "view"

module Tiercel
  module Lab
    module Tables
      # The first article's tables of serializers, and what each of them loses.
      module Serializers
        class Table < Tables::Table
          called "serializers", "How fast and small serializers are, and what each of them loses."
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
            parser.on("--serializer A,B", Array, "see `help serializers` (all)") do |names|
              (@serializers ||= []).concat(names.map { |name| Serialization.fetch(name) })
            end
            value_option(parser, default: VALUES.join(", "))
          end

          def plan
            contestants = parse_all(serializers.map { |library| "serializer:#{library.name}" })
            values = chosen_values(settings.quick ? QUICK_VALUES : VALUES, parse: true)
            values.product(OPERATIONS).map do |value, operation|
              Engine::Comparison.of(value:, operation: Operations.fetch(operation), contestants:)
            end
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

          # The baseline first.
          def serializers
            [Serialization.fetch(Serialization::BASELINE), *(@serializers || Serialization.all)].uniq(&:name)
          end
        end
      end

      add Serializers::Table
    end
  end
end
