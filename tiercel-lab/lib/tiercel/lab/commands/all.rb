# frozen_string_literal: true

require "fileutils"
require_relative "../command"
require_relative "../documents/suite"
require_relative "../suite"
require_relative "../terminal/suite_report"

module Tiercel
  module Lab
    module Commands
      # Every table, one after the other, in one report.
      class All < Command
        called "all", "Makes every table, one after the other, and one report of all of them."
        example "all --quick", "all --quick --html report.html", "all --only sizes,client --html report.html",
                "all --skip end-to-end --plan", "all --resume results/kept-all.jsonl --html report.html"

        def self.document(results, command:) = Documents::Suite.new(results, command:).build

        # The kept run's own options come first; what is said now is heard last.
        def call(arguments)
          super([*kept_arguments(arguments), *arguments])
        rescue UsageError => e
          err.puts "#{@program}: #{e.message}"
          ExitCodes::USAGE
        end

        def options(parser)
          parser.on("--only A,B", Array, "of #{entries.map(&:name).join(", ")}") { |names| @only = known(names) }
          parser.on("--skip A,B", Array, "all but these") { |names| @skip = known(names) }
          parser.on("--within MINUTES", Float, "no table begins later (55; quick: 14.5); --resume goes on") do |minutes|
            raise UsageError, "--within #{minutes}: expected more than 0" unless minutes.positive?
            @minutes = minutes
          end
          parser.on("--resume FILE", "goes on with a kept run of all: what is complete there is not measured") do |file|
            @resumed = kept(file)
          end
        end

        def run
          return print_plan if settings.plan
          session.start
          FileUtils.mkdir_p(folder)
          take
          session.finish("warnings" => warnings)
          report
          exit_code
        end

        # @return [Array<Suite::Entry>] what there is
        def entries = Suite::ENTRIES

        # @return [Float] seconds
        def expected_seconds = expected.each_value.sum

        private

        def known(names)
          wrong = names.find { |name| entries.none? { |entry| entry.name == name } } or return names
          raise UsageError, "table #{wrong.inspect} is not known. Known: #{entries.map(&:name).join(", ")}"
        end

        def kept(file)
          results = Results.load(file)
          return results if results["run"]["command"] == "all"
          raise UsageError, "--resume #{file}: a run of #{results["run"]["command"]}, expected one of all"
        end

        def kept_arguments(arguments)
          index = arguments.index { |text| text.start_with?("--resume") } or return []
          file = arguments[index][/\A--resume=(.+)/, 1] || arguments[index + 1]
          before = file ? kept(file)["run"]["arguments"].dup : []
          while (at = before.index { |text| text.start_with?("--resume") })
            before.slice!(at, before[at].include?("=") ? 1 : 2)
          end
          before
        end

        def chosen
          @chosen ||= entries.select do |entry|
            (@only.nil? || @only.include?(entry.name)) && !@skip.to_a.include?(entry.name)
          end
        end

        # Figures of another machine do not belong to this run.
        def done
          @done ||= begin
            check_machine if @resumed
            kept = (@resumed ? @resumed.fetch("parts", []) : []).map { |record| Suite::Part.from(record) }
            kept.select { |part| part.complete? && chosen.any? { |entry| same?(entry, part) } }
          end
        end

        def check_machine
          theirs = Runner::Machine.sentence(@resumed["environment"])
          ours = Runner::Machine.sentence(Runner::Machine.describe)
          raise UsageError, "--resume: that run is of another machine (#{theirs}), this is #{ours}" if theirs != ours
        end

        def same?(entry, part) = entry.name == part.name && part.arguments == [*entry.arguments, *more]

        def to_measure = chosen.reject { |entry| done.any? { |part| part.name == entry.name } }

        # What every table is called with, as the user would type it.
        def more
          @more ||= [*("--quick" if settings.quick),
                     *(["--seed", settings.seed.to_s] unless settings.seed == Settings::DEFAULT_SEED),
                     *(["--data", settings.data] if settings.data),
                     *settings.requires.flat_map { |file| ["--require", file] },
                     *settings.urls.flat_map { |store| ["--url", "#{store.name}=#{store.text}"] }]
        end

        def timetable = @timetable ||= Suite::Timetable.new(quick: settings.quick, minutes: @minutes)

        def folder = session.recorder.path.sub(/\.jsonl\z/, ".parts")

        def expected = to_measure.to_h { |entry| [entry, entry.expected_seconds([*more, *timetable.options])] }

        def take
          @overall = Suite::Overall.new(err, expected)
          chosen.each do |entry|
            break if @interrupted
            part = done.find { |one| one.name == entry.name } || measure(entry)
            session.recorder.part(part.to_h)
            @interrupted = true if part.state == "interrupted"
          end
        rescue Interrupt # between two tables
          @interrupted = true
        ensure
          session.interrupted! if @interrupted
          @overall&.clear
        end

        def measure(entry)
          return missing(entry, "there is no command #{entry.name}", "failed") unless entry.known?
          return missing(entry, timetable.no_time, "out of time") unless timetable.time_left?
          @overall.begin(entry)
          child = Suite::Child.new(entry, more:, hidden: timetable.options, folder: File.join(folder, entry.name),
                                          limit: timetable.limit)
          child.run { |line| @overall.line(line) }.tap { |part| @overall.end(part) }
        end

        def missing(entry, note, state)
          part = Suite::Part.new(name: entry.name, arguments: [*entry.arguments, *more], state:, seconds: 0.0, note:)
          part.tap { @overall.end(part) }
        end

        def parts = session.recorder.document.fetch("parts", []).map { |record| Suite::Part.from(record) }

        def warnings
          sha = @resumed&.dig("environment", "git", "sha")
          revisions = [sha, Runner::Machine.describe.dig("git", "sha")].compact.uniq
          own = []
          if revisions.size > 1 && done.any?
            own << "Goes on with a run of another revision (#{sha.slice(0, 8)}): #{done.map(&:name).join(", ")}."
          end
          own.push(*unfinished)
          disturbed = parts.select { |part| part.results && part.results.fetch("warnings", []).any? }.map(&:name)
          if disturbed.any?
            own << "Warnings stand above the figures of these tables; read them first: " \
                   "#{disturbed.join(", ")}."
          end
          own
        end

        # How to go on.
        def unfinished
          again = "`#{command_line("all", "--resume", session.recorder.path)}` goes on."
          late = parts.select { |part| part.state == "out of time" }.map(&:name)
          [("Interrupted; #{again}" if @interrupted),
           ("Out of time: #{late.join(", ")}; #{again}" if late.any?)].compact
        end

        def report
          document = self.class.document(session.results, command: command_line("all", *@arguments))
          text = Terminal::SuiteReport.new(document, parts, session:, reports: settings.reports)
          publish(document, text: text.to_s(style))
        end

        # The worst of all: wrong values before what is not there, and that before what does not hold.
        def exit_code
          codes = parts.map { |part| part.complete? ? part.code : ExitCodes::UNDECIDED }
          worst = [ExitCodes::WRONG_VALUES, ExitCodes::UNDECIDED, ExitCodes::DOES_NOT_HOLD]
          worst.find { |code| codes.include?(code) } || ExitCodes::OK
        end

        def print_plan
          out.puts Terminal::SuitePlan.new(expected, done, more).to_s(style)
          ExitCodes::OK
        end
      end

      add All
    end
  end
end
