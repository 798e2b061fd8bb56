# frozen_string_literal: true

require "fileutils"
require_relative "../command"
require_relative "child"
require_relative "entry"
require_relative "overall"
require_relative "timetable"
require_relative "view"

module Tiercel
  module Lab
    module CLI
      # Measures all tables, one after the other.
      module All
        NAME = "all"

        # Measures every table in a process of its own, and makes one report of all.
        class Command < CLI::Command
          FACTS = Facts.new(
            name: NAME,
            groups: [:constraints, :quick, :seed, :data, :url, :require, *Settings::OWN, *Settings::OUTPUTS],
            summary: "Makes every table, and one report of all of them.",
            examples: ["all --quick", "all --quick --html report.html", "all --only sizes,client --html report.html",
                       "all --skip end-to-end --plan", "all --resume kept-all.jsonl --html report.html"]
          )

          # The option, and the only shorter form that is not ambiguous.
          RESUME = /\A--resume?(=|\z)/
          private_constant :RESUME

          def facts = FACTS

          # The options of the resumed run come first, so that new options override them.
          def call(arguments)
            super([*kept_arguments(arguments), *arguments])
          rescue UsageError => e
            err.puts "#{@program}: #{e.message}"
            ExitCodes::USAGE
          end

          def perform
            raise UsageError, "--only, --skip: no table is left; name one of #{names.join(", ")}" if chosen.none?
            return plan if settings.plan
            @run = Engine::Run.new(command: NAME, arguments: @arguments, settings:, progress: nil)
            @run.start
            FileUtils.mkdir_p(folder)
            take
            finish
            CLI.exit_code(@run.results)
          end

          # @return [Array<Entry>] all tables
          def entries = Entry.all

          # @param arguments [Array<String>]
          # @return [Float] seconds
          def estimate(arguments)
            prepare(arguments)
            expected.each_value.sum
          end

          private

          def names = entries.map(&:name)

          def options(parser)
            parser.on("--only A,B", Array, "only these of #{names.join(", ")}") { |given| @only = known(given, names) }
            parser.on("--skip A,B", Array, "all tables except these") { |given| @skip = known(given, names) }
            parser.on("--within MINUTES", Float, "time limit: no table begins later (70; quick: 14.5)") do |minutes|
              raise UsageError, "--within #{minutes}: expected more than 0" unless minutes.positive?
              @minutes = minutes
            end
            parser.on("--resume FILE", "continue a kept run, without its complete tables") do |file|
              @resumed = kept(file)
            end
          end

          def known(given, names)
            given.each { |name| raise UsageError, Catalogue.unknown("table", name, names) unless names.include?(name) }
          end

          def kept(file)
            results = Engine::Results.load(file)
            command, arguments = results["run"].values_at("command", "arguments")
            raise UsageError, "--resume #{file}: a run of #{command}, expected one of all" if command != NAME
            return results if arguments.is_a?(Array) && results["environment"].is_a?(Hash)
            raise UsageError, "--resume #{file}: its arguments or its environment are missing; measure it again"
          end

          def kept_arguments(arguments)
            index = arguments.index { |text| text.match?(RESUME) } or return []
            file = arguments[index][/=(.+)/, 1] || arguments[index + 1]
            before = file ? kept(file)["run"]["arguments"].dup : []
            while (at = before.index { |text| text.match?(RESUME) })
              before.slice!(at, before[at].include?("=") ? 1 : 2)
            end
            before
          end

          def chosen
            @chosen ||= entries.select do |entry|
              (@only.nil? || @only.include?(entry.name)) && !@skip.to_a.include?(entry.name)
            end
          end

          # The complete tables of the resumed run. Raises if another machine measured them.
          def done
            @done ||= begin
              check_machine if @resumed
              kept = (@resumed ? @resumed.fetch("parts", []) : []).map { |record| Part.from(record) }
              kept.select { |part| part.complete? && chosen.any? { |entry| same?(entry, part) } }
            end
          end

          def check_machine
            machines = [@resumed["environment"], Engine::Machine.describe]
            theirs, ours = machines.map { |facts| Engine::Machine.sentence(facts) }
            raise UsageError, "--resume: that run is of another machine (#{theirs}), this is #{ours}" if theirs != ours
          end

          def same?(entry, part) = entry.name == part.name && part.arguments == [*entry.arguments, *entry.used(given)]

          def to_measure = chosen.reject { |entry| done.any? { |part| part.name == entry.name } }

          # The options that all tables use, as on the command line.
          def given
            @given ||= {
              quick: ("--quick" if settings.quick),
              seed: (["--seed", settings.seed.to_s] unless settings.seed == Settings::DEFAULT_SEED),
              data: (["--data", settings.data] if settings.data),
              constraints: (settings.constraints.options if settings.constrained?),
              require: settings.requires.flat_map { |file| ["--require", file] },
              url: settings.urls.flat_map { |store| ["--url", store.text] }
            }.transform_values { |words| Array(words) }
          end

          def timetable = @timetable ||= Timetable.new(quick: settings.quick, minutes: @minutes)

          def folder = @run.recorder.path.sub(/\.jsonl\z/, ".parts")

          def expected
            to_measure.to_h do |entry|
              [entry, entry.expected_seconds(entry.used(given) + entry.used(timetable.options))]
            end
          end

          def take
            @left = expected
            @overall = Overall.new(err, @left)
            chosen.each do |entry|
              break if @interrupted
              part = done.find { |one| one.name == entry.name } || measure(entry)
              @run.recorder.part(part.to_h)
              @interrupted = true if part.state == "interrupted"
            end
          rescue SignalException # between two tables
            @interrupted = true
          ensure
            @run.interrupted! if @interrupted
            @overall&.clear
          end

          def measure(entry)
            return missing(entry, "there is no command #{entry.name}", "failed") unless entry.known?
            return missing(entry, timetable.no_time, "out of time") unless timetable.time_left?
            @overall.begin(entry)
            place = File.join(folder, entry.name)
            FileUtils.mkdir_p(place)
            share = share(entry)
            child = Child.new(entry, more: entry.used(given), hidden: entry.used(timetable.options(share)),
                                     folder: place, limit: timetable.limit(share))
            child.run { |line| @overall.line(line) }.tap { |part| @overall.end(part) }
          end

          # The table's share of the time for all tables that are left.
          def share(entry)
            @left = @left.drop_while { |other, _| other != entry }.to_h
            weighed = @left.to_h { |other, seconds| [other, seconds * other.weight] }
            weighed.fetch(entry) / [weighed.each_value.sum, 1.0].max
          end

          def missing(entry, note, state)
            part = Part.new(name: entry.name, arguments: [*entry.arguments, *entry.used(given)], state:, seconds: 0.0,
                            note:)
            part.tap { @overall.end(part) }
          end

          def parts = @run.recorder.document.fetch("parts", []).map { |record| Part.from(record) }

          def finish
            @run.finish("warnings" => warnings)
            export(@run.recorder)
            @document = CLI.document(@run.results, program: @program)
            publish(path: @run.recorder.path)
          end

          def warnings
            disturbed = parts.select { |part| part.results && part.results.fetch("warnings", []).any? }.map(&:name)
            words = "Warnings stand above the figures of these tables; read them first: #{disturbed.join(", ")}."
            [*other_revision, *unfinished, *(words if disturbed.any?)]
          end

          def other_revision
            sha = @resumed&.dig("environment", "git", "sha")
            return if done.empty? || [sha, Engine::Machine.describe.dig("git", "sha")].compact.uniq.size < 2
            "Goes on with a run of another revision (#{sha.slice(0, 8)}): #{done.map(&:name).join(", ")}."
          end

          # Says how to continue.
          def unfinished
            again = "`#{command_line(NAME, "--resume", @run.recorder.path)}` goes on."
            late = parts.select { |part| part.state == "out of time" }.map(&:name)
            [("Interrupted; #{again}" if @interrupted),
             ("Out of time: #{late.join(", ")}; #{again}" if late.any?)].compact
          end

          # Prints each table with its expected time.
          def plan
            columns = Report::Terminal::Columns.new([["table", :left], ["expected", :right], ["command", :left]])
            expected.each { |entry, seconds| columns.row(planned(entry, seconds)) }
            done.each { |part| columns.row([part.name, "complete", "not measured again"]) }
            out.puts "#{expected.size} tables in about #{Report::Format.minutes(expected.each_value.sum)}.", "",
                     columns.to_s(style)
            ExitCodes::OK
          end

          def planned(entry, seconds)
            return [entry.name, "", "there is no such command"] unless entry.known?
            [entry.name, Report::Format.minutes(seconds), [entry.name, *entry.arguments, *entry.used(given)].join(" ")]
          end
        end
      end
    end
  end
end
