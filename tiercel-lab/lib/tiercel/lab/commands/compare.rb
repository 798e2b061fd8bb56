# frozen_string_literal: true

require_relative "../command"
require_relative "../comparison"
require_relative "../documents/compare"
require_relative "../terminal/compare_report"
require_relative "../documents/headline"
require_relative "../terminal/plan_report"
require_relative "../warnings"
require_relative "compare_sides"

module Tiercel
  module Lab
    module Commands
      # The first job: stores side by side.
      class Compare < Command
        called "compare", "Measures cache stores side by side, interleaved, with intervals and a noise floor."
        example "", "--quick", "--store tiercel --op read --value html-2kb", "--store mem_cache_store#compress=false",
                "--url production=redis://10.0.0.7:6379/0 --op read,write", "--data storage/fragments --quick",
                "--plan", "musts"

        BASELINE = "memory_store"

        # Of two sides, where the run had them.
        def self.document(results, command:)
          sides = results["tables"].any? { |table| table["name"] == "sides" }
          sides ? CompareSides.document(results, command:) : super
        end

        # `compare A B` is the other job of this name.
        def call(arguments)
          return super unless CompareSides.meant?(arguments)
          CompareSides.new(out:, err:, program: @program).call(arguments)
        end

        def options(parser)
          parser.separator("    compare A B                      two revisions, versions of a gem or stores instead: " \
                           "compare A B --help")
          parser.on("--store STORE", "repeatable; default: #{Contestants::DEFAULT.join(", ")};",
                    "any of TYPE[:PLACE][#OPTION=VALUE,...], such as tiercel:shared: or",
                    "file_store:/mnt/nfs") do |text|
            stores << Contestants.parse(text)
          end
          parser.on("--op A,B", "of #{Operations.names.join(", ")}") do |text|
            operations.concat(named(Operations, text))
          end
          parser.on("--value A,B", "of #{Values.names.join(", ")}") { |text| values.concat(named(Values, text)) }
          parser.on("--baseline STORE", "what ratios are to (#{BASELINE})") do |text|
            @baseline = Contestants.parse(text)
          end
        end

        def run
          plan = comparisons
          return print_plan(plan) if settings.plan
          measurement = session.measure(plan)
          session.finish(conclusions(measurement))
          publish(self.class.document(session.results, command: command_line(*@arguments)),
                  text: Terminal::CompareReport.new(measurement.cells, session:, command: self).to_s(style))
          exit_code(measurement.cells)
        end

        private

        def conclusions(measurement)
          cells = measurement.cells
          { "sentence" => Documents::Headline.new(session.results, command: "").to_s,
            "warnings" => Warnings.of(measurement.disturbances, cells, interrupted: session.interrupted?) }
        end

        def stores = @stores ||= []
        def operations = @operations ||= []
        def values = @values ||= []

        def named(catalogue, text) = text.split(",").map { |name| catalogue.fetch(name.strip) }

        def comparisons
          contestants = chosen_contestants
          baseline = contestants.find { |contestant| contestant.name == baseline_contestant.name }
          chosen_values.flat_map do |value|
            chosen_operations.reject { |operation| operation.unsuitable(value) }.map do |operation|
              Comparison.of(value:, operation:, contestants:, baseline:, loop: !settings.quick)
            end
          end
        end

        def baseline_contestant = @baseline_contestant ||= @baseline || Contestants.parse(BASELINE)

        def chosen_contestants
          chosen = stores.empty? ? Contestants::DEFAULT.map { |text| Contestants.parse(text) } : stores
          [baseline_contestant, *chosen, *settings.urls].uniq(&:name)
        end

        def chosen_values
          return [Values::Files.new(directory: settings.data), *values] if settings.data
          values.empty? ? named(Values, (settings.quick ? Values::QUICK : Values::DEFAULT).join(",")) : values
        end

        def chosen_operations
          if operations.empty?
            named(Operations, (settings.quick ? Operations::QUICK : Operations::DEFAULT).join(","))
          else
            operations
          end
        end

        def print_plan(plan)
          out.puts Terminal::PlanReport.new(plan, protocol: settings.protocol).to_s(style)
          ExitCodes::OK
        end

        def exit_code(cells)
          wrong = cells.any? { |cell| ["misses", "wrong values"].include?(cell.status) }
          wrong ? ExitCodes::WRONG_VALUES : ExitCodes::OK
        end
      end

      add Compare
    end
  end
end
