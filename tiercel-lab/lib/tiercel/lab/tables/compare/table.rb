# frozen_string_literal: true

require_relative "../table"

module Tiercel
  module Lab
    module Tables
      # Compares stores side by side.
      module Compare
        class Table < Tables::Table
          called "compare", "Stores side by side, with intervals and a noise floor."
          example "compare --quick", "compare --store tiercel --op read --value html-2kb",
                  "compare --store mem_cache_store#compress=false",
                  "compare --url production=redis://10.0.0.7:6379/0 --op read,write",
                  "compare --data storage/fragments --quick", "compare --plan",
                  "compare --quick --machines 2 --survives restart"
          takes :quick, :seed, :cells, :data, :url, :constraints, :now, :profile
          # These cells decide the answer.
          in_all 5, arguments: %w[--value html-2kb,rows-50 --op read,write], weight: 2 # it decides the answer

          BASELINE = "memory_store"

          class << self
            # `compare A B` is another table with the same command name.
            def variants = [self, SidesTable]

            def variant(rest) = rest.any? ? SidesTable : self

            # A run with two sides has a view of its own.
            def view(results, command:) = sides?(results) ? SidesTable.view(results, command:) : super
            def exit_code(results) = sides?(results) ? SidesTable.exit_code(results) : super

            private

            def sides?(results) = results["tables"].any? { |table| table["name"] == "sides" }
          end

          def options(parser)
            parser.separator("    compare A B: two revisions, versions of a gem or stores; compare A B --help")
            store_option(parser, default: Contestants::DEFAULT.join(", "))
            things parser, "--op", Operations, :operations, "see `help operations`"
            value_option(parser)
            parser.on("--baseline STORE", "baseline of the ratios (#{BASELINE})") do |text|
              @baseline = Contestants.parse(text)
            end
          end

          def plan
            contestants = chosen_contestants
            baseline = contestants.find { |contestant| contestant.name == baseline_contestant.name }
            default = settings.quick ? Values::QUICK : Values::DEFAULT
            values = chosen_values(settings.page.source ? settings.page.values : default)
            comparisons_of(values, operations, contestants, baseline:, loop: !settings.quick)
          end

          private

          def baseline_contestant = @baseline_contestant ||= @baseline || Contestants.parse(BASELINE)

          def chosen_contestants
            [baseline_contestant, *(@stores || parse_all(candidates)), *now, *settings.urls].uniq(&:name)
          end

          def now = settings.now && !@stores ? [Contestants.parse(settings.now)] : []

          # With constraints, the stores that satisfy them.
          def candidates
            return Contestants::DEFAULT unless settings.constrained? || settings.now || settings.page.source
            Answer::Candidate.suiting(settings.constraints)
          end

          def operations
            facts_given[:operations] ||
              (settings.quick ? Operations::QUICK : Operations::DEFAULT).map { |name| Operations.fetch(name) }
          end
        end
      end

      add Compare::Table
    end
  end
end
