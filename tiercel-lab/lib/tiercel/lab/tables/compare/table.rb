# frozen_string_literal: true

require_relative "../sides/table"
require_relative "../table"
require_relative "view"

module Tiercel
  module Lab
    module Tables
      # The lab's first job: stores side by side.
      module Compare
        class Table < Tables::Table
          called "compare", "Stores side by side, with intervals and a noise floor."
          example "compare --quick", "compare --store tiercel --op read --value html-2kb",
                  "compare --store mem_cache_store#compress=false",
                  "compare --url production=redis://10.0.0.7:6379/0 --op read,write",
                  "compare --data storage/fragments --quick", "compare --plan",
                  "compare --quick --machines 2 --survives restart"
          takes :quick, :seed, :cells, :data, :url, :constraints
          # The cells that decide the answer.
          in_all 5, arguments: %w[--value html-2kb,rows-50 --op read,write]

          BASELINE = "memory_store"

          class << self
            # `compare A B` is the other job of this name.
            def variants = [self, Sides::Table]

            def variant(rest) = rest.any? ? Sides::Table : self

            # Of two sides, where the run had them.
            def view(results, command:) = sides?(results) ? Sides::Table.view(results, command:) : super
            def exit_code(results) = sides?(results) ? Sides::Table.exit_code(results) : super

            private

            def sides?(results) = results["tables"].any? { |table| table["name"] == "sides" }
          end

          def options(parser)
            parser.separator("    compare A B: two revisions, versions of a gem or stores; compare A B --help")
            store_option(parser, default: Contestants::DEFAULT.join(", "))
            parser.on("--op A,B", Array, "see `help operations`") do |names|
              (@operations ||= []).concat(names.map { |name| Operations.fetch(name) })
            end
            value_option(parser)
            parser.on("--baseline STORE", "what ratios are to (#{BASELINE})") do |text|
              @baseline = Contestants.parse(text)
            end
          end

          def plan
            contestants = chosen_contestants
            baseline = contestants.find { |contestant| contestant.name == baseline_contestant.name }
            chosen_values(settings.quick ? Values::QUICK : Values::DEFAULT).flat_map do |value|
              operations.reject { |operation| operation.unsuitable(value) }.map do |operation|
                Engine::Comparison.of(value:, operation:, contestants:, baseline:, loop: !settings.quick)
              end
            end
          end

          private

          def baseline_contestant = @baseline_contestant ||= @baseline || Contestants.parse(BASELINE)

          def chosen_contestants
            [baseline_contestant, *(@stores || parse_all(candidates)), *settings.urls].uniq(&:name)
          end

          # Under constraints of the user's, those that suit them.
          def candidates
            settings.constrained? ? Answer::Candidate.suiting(settings.constraints) : Contestants::DEFAULT
          end

          def operations
            @operations ||
              (settings.quick ? Operations::QUICK : Operations::DEFAULT).map { |name| Operations.fetch(name) }
          end
        end
      end

      add Compare::Table
    end
  end
end
