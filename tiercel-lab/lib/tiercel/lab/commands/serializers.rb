# frozen_string_literal: true

require_relative "../documents/serializers"
require_relative "../serialization"
require_relative "../serialization/fidelity"
require_relative "../table_command"

module Tiercel
  module Lab
    module Commands
      # The first article's tables of serializers, and what each of them loses.
      class Serializers < TableCommand
        called "serializers", "How fast and how small serializers are on records and rows, and what each of them loses."
        example "serializers --quick", "serializers", "serializers --serializer marshal,auto --value rows-50",
                "serializers --data exports", "serializers --plan"

        QUICK_VALUES = %w[books rows-50].freeze
        VALUES = %w[books-1mb books rows-50].freeze
        OPERATIONS = %w[dump load dump_load].freeze
        QUICK = Protocol::QUICK.vary(blocks: 3, slice_ns: 6_000_000, budget_seconds: 50)
        FULL = Protocol::FULL.vary(processes: 4, most_processes: 8, blocks: 6, budget_seconds: 180)
        # What probing one serializer takes, roughly.
        FIDELITY_SECONDS = 0.5

        def self.document(results, command:) = Documents::Serializers.new(results, command:).build

        def options(parser)
          parser.on("--serializer A,B", Array, "of #{Serialization.names.join(", ")} (all)") do |names|
            serializers.concat(names.map { |name| Serialization.fetch(name) })
          end
          parser.on("--value A,B", Array, "default: #{VALUES.join(", ")}; any value of the lab") do |names|
            values.concat(names.map { |name| Values.fetch(name) })
          end
        end

        def protocol = settings.quick ? QUICK : FULL

        def plan
          contestants = chosen_serializers.map { |library| Contestants.parse("serializer:#{library.name}") }
          chosen_values.product(OPERATIONS).map do |value, operation|
            Comparison.of(value:, operation: Operations.fetch(operation), contestants:, baseline: contestants.first)
          end
        end

        def take(comparisons)
          super
          session.watch(chosen_serializers.size * FIDELITY_SECONDS) do |progress|
            rows = chosen_serializers.map do |library|
              Serialization::Fidelity.new(library).to_h.tap do
                progress.advance(FIDELITY_SECONDS, "what #{library.name} loses")
              end
            end
            session.recorder.table("fidelity", rows)
          end
        end

        private

        def serializers = @serializers ||= []
        def values = @values ||= []

        # The baseline first.
        def chosen_serializers
          chosen = serializers.empty? ? Serialization.all : serializers
          [Serialization.fetch(Serialization::BASELINE), *chosen].uniq(&:name)
        end

        def chosen_values
          return [Values::Files.new(directory: settings.data, parse: true), *values] if settings.data
          values.any? ? values : (settings.quick ? QUICK_VALUES : VALUES).map { |name| Values.fetch(name) }
        end
      end

      add Serializers
    end
  end
end
