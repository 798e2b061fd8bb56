# frozen_string_literal: true

module Tiercel::Lab
  module CLI
    # Measures all tables, one after the other.
    module All
      # The run of one table as a part of a run of all tables.
      #
      # - `name`: of the command; `arguments`: as on the command line
      # - `state`: "complete", "interrupted", "out of time" or "failed"
      # - `code`: exit code; nil if a signal ended the table, or if it did not begin
      # - `seconds`: duration
      # - `note`: the reason why it is incomplete
      # - `results`: the table's document, nil if there is none
      Part = Data.define(:name, :arguments, :state, :code, :seconds, :note, :results) do
        def initialize(name:, arguments:, state:, seconds:, code: nil, note: nil, results: nil) = super

        # @param record [Hash{String => Object}] a record from {#to_h}
        def self.from(record) = new(**record.to_h.transform_keys(&:to_sym))

        # @return [Boolean]
        def complete? = state == "complete"

        # @return [Hash{String => Object}] the form of the results file
        def to_h = super.transform_keys(&:to_s)
      end

      # Duration of a table without an estimate.
      ASSUMED_SECONDS = 60.0

      # A table in `lab all`, with its arguments.
      #
      # - `name`: of the command
      # - `arguments`: in `lab all`
      # - `weight`: a factor of its expected time when a quick run shares its time among the tables
      Entry = Data.define(:name, :arguments, :weight) do
        # @return [Array<Entry>] all tables: first those of the articles in their order, then the others
        def self.all = Tables.in_all.map { |table| new(name: table.name, **table.facts_in_all) }

        def initialize(name:, arguments: [], weight: 1) = super

        # @param given [Hash{Symbol => Array<String>}] options by group, see {Settings::GROUPS}
        # @return [Array<String>] the options that the table uses
        def used(given) = given.slice(*Tables.fetch(name).taken).values.flatten

        # @param more [Array<String>] additional arguments
        # @return [Float] seconds
        def expected_seconds(more)
          command = TableCommand.new(Tables.fetch(name), out: StringIO.new, err: StringIO.new, program: "")
          command.estimate([*arguments, *more]) || ASSUMED_SECONDS
        rescue UsageError, OptionParser::ParseError
          ASSUMED_SECONDS # the run itself says what is wrong
        end
      end

      # The time limits of a run of all tables. The run ends in time on a busy machine too, and a table that hangs
      # does not stop the others.
      class Timetable
        # After `whole_seconds` no table begins, and the running one is stopped. After `table_seconds` a table is
        # stopped and shows its results so far. `cell_seconds` limits the cells of one table together (nil: no limit);
        # a late table makes fewer processes.
        #
        # On two cores, a quick run of everything is planned to take 14 minutes, and a full run an hour. A table of a
        # full run takes at most 14 minutes. A busy machine may double these times.
        QUICK = { whole_seconds: 14.5 * 60, table_seconds: 180, cell_seconds: 72 }.freeze
        FULL = { whole_seconds: 70 * 60, table_seconds: 18 * 60, cell_seconds: nil }.freeze
        # The cells' share of a table's time. The rest is for starting, verifying and summarizing.
        CELL_SHARE = 0.6
        # No table begins with less time than this.
        LEAST_SECONDS = 15
        # A table without cells cannot make fewer processes, so a quick run ends a table after twice its share of the
        # plan only.
        SLACK = 2.0

        # @param quick [Boolean]
        # @param minutes [Numeric, nil] limit of the whole run; nil: the limits above
        # @param clock [#call] monotonic seconds
        def initialize(quick:, minutes: nil, clock: -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) })
          @whole, @table, @cells = (quick ? QUICK : FULL).values_at(:whole_seconds, :table_seconds, :cell_seconds)
          @whole = minutes * 60.0 if minutes
          @clock = clock
          @started = clock.call
        end

        # A quick run divides the remaining time among the remaining tables, in proportion to their planned times. On
        # a busy machine every table then makes fewer processes, and none is left out.
        #
        # @param share [Float] the next table's share of the remaining plan
        # @return [Hash{Symbol => Array<String>}] options for the table
        def options(share = 1.0)
          @cells ? { budget: ["--budget", [@cells, left * share * CELL_SHARE].min.round.to_s] } : {}
        end

        # @param others [Integer] tables after the next one; some time stays for each of them
        # @return [Numeric] time limit of the next table in seconds
        def limit(share = 1.0, others = 0)
          return [@table, left].min unless @cells
          spare = left - (others * LEAST_SECONDS * SLACK)
          [@table, left, left * share * SLACK, [left * share, spare].max].min
        end

        # @return [Boolean] whether the next table may begin
        def time_left? = left >= LEAST_SECONDS

        # @return [String] the reason why a table did not begin
        def no_time = format("no time was left: no table begins after %g minutes", @whole / 60)

        private

        def left = @whole - (@clock.call - @started)
      end

      # Runs one table's command in a process of its own. A table that fails or fills the memory does not affect the
      # others. The process has its own process group: Ctrl-C and SIGTERM reach the parent alone, which then stops the
      # process once.
      class Child
        EXECUTABLE = File.expand_path("../../../../exe/tiercel-lab", __dir__)
        # Seconds between lines of progress.
        PROGRESS = "1"
        # Time to end after a signal: a table summarizes, renders, and stops its servers.
        GRACE_SECONDS = 30
        # The number of last error lines that are kept.
        TAIL = 4

        # @param entry [Entry]
        # @param more [Array<String>] options for all tables, as on the command line
        # @param hidden [Array<String>] internal options
        # @param folder [String] folder of the results
        # @param limit [Numeric, nil] seconds until it is stopped
        def initialize(entry, more:, folder:, hidden: [], limit: nil)
          @entry = entry
          @arguments = [*entry.arguments, *more]
          @hidden = hidden
          @folder = folder
          @limit = limit
          @tail = []
        end

        # @yieldparam line [String] a line of progress
        # @return [Part]
        def run(&on_line)
          @started = now
          reader, writer = IO.pipe
          child = spawn(writer)
          writer.close
          lines = Thread.new { reader.each_line { |line| take(line.scrub.strip, &on_line) } }
          status = wait(child)
          lines.join(0.5)&.value || lines.kill # a process of the child's may hold the pipe
          part(status, newest_results)
        ensure
          signal(:TERM, child.pid) if child&.alive?
          reader&.close
        end

        private

        # @return [Thread] waits for the process
        def spawn(err)
          command = [RbConfig.ruby, EXECUTABLE, @entry.name, *@arguments, *@hidden, "--results", @folder]
          Process.detach(Process.spawn({ Progress::PLAIN_VARIABLE => PROGRESS }, *command, in: File::NULL,
                                       out: File::NULL, err:, pgroup: true))
        end

        def take(line)
          return if line.empty?
          @tail = [*@tail, line].last(TAIL)
          yield line if block_given?
        end

        # At the time limit and at Ctrl-C, interrupts the process once; after that, or at a second Ctrl-C, kills it.
        #
        # @return [Process::Status]
        def wait(child)
          stop(child, "out of time") until child.join(@why ? GRACE_SECONDS : @limit)
          child.value
        rescue SignalException
          stop(child, "interrupted")
          retry
        end

        def stop(child, why)
          return signal(:KILL, -child.pid) if @why
          @why = why
          signal(:INT, child.pid)
        end

        def signal(name, pid)
          Process.kill(name, pid)
        rescue Errno::ESRCH
          nil # it has ended by itself
        end

        def part(status, results)
          state, note = outcome(status, results)
          Part.new(name: @entry.name, arguments: @arguments, state:, code: status&.exitstatus, note:, results:,
                   seconds: (now - @started).round(1))
        end

        def outcome(status, results)
          return [@why, @why == "out of time" ? "stopped after #{@limit.round} s" : "interrupted"] if @why
          return ["complete", nil] if results && results["complete"] && [0, 1, 3, 4].include?(status.exitstatus)
          ended = status.signaled? ? "ended by signal #{status.termsig}" : "exit code #{status.exitstatus}"
          ["failed", [ended, *@tail].join("; ")]
        end

        # Also reads the results of an interrupted run, whose lines were written during the run.
        def newest_results
          path = Dir[File.join(@folder, "*.jsonl")].max_by { |file| File.mtime(file) }
          path && Engine::Results.load(path)
        rescue UsageError
          nil
        end

        def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      end

      # The report of `lab all`: the answer, the findings, then a chapter for each table. A chapter shows a sentence
      # and the tables of its article (or one short table); the rest is folded. An incomplete table shows the reason
      # and its results so far.
      class View < Tables::View
        # Longer tables are for reference, and folded.
        ROWS = 8

        def title = "Cache stores: every table"

        def subtitle
          how = "Full form; what is computed says so"
          how = "Quick form: each table varies one factor from its default and takes few levels" if quick?
          "#{parts.size} tables in #{Report::Format.minutes(parts.sum(&:seconds))}. #{how}."
        end

        def build
          document = Report::Document.new(title:, subtitle:, command:, environment:,
                                          data: results.merge("parts" => parts.map { |part| light(part) }))
          document.answer = answer&.element
          document.verdict(sentence, warnings:)
          found = parts.to_h { |part| [part, chapter(part)] }
          found.each do |part, chapter|
            document.findings << finding(part, chapter) if chapter.is_a?(Report::Document)
            add(document, part, chapter)
          end
          overview(document)
          document
        end

        # The answer of the table that has one.
        def answer
          part = parts.find { |one| one.results&.key?("constraints") } or return
          Tables.fetch(part.name).view(part.results, command:).answer
        end

        # The worst exit code of the parts: wrong values, then missing figures, then targets that do not hold.
        #
        # @return [Integer] see {ExitCodes}
        def exit_code
          codes = parts.map { |part| part.complete? ? part.code : ExitCodes::UNDECIDED }
          worst = [ExitCodes::WRONG_VALUES, ExitCodes::UNDECIDED, ExitCodes::DOES_NOT_HOLD]
          worst.find { |code| codes.include?(code) } || ExitCodes::OK
        end

        private

        # @return [Array<Part>]
        def parts = @parts ||= results.fetch("parts", []).map { |record| Part.from(record) }

        def sentence
          complete = parts.count(&:complete?)
          return "All #{complete} tables are complete." if complete == parts.size
          "#{complete} of #{parts.size} tables are complete."
        end

        # A part without its slices, as data in the HTML page.
        def light(part)
          cells = part.results&.dig("cells")&.map { |cell| cell.except("slices") }
          part.to_h.merge("results" => part.results&.merge("cells" => cells))
        end

        # The servers of all parts.
        def environment
          servers = parts.flat_map { |part| part.results ? part.results.fetch("servers", []) : [] }
                         .map { |server| server.values_at("name", "version").compact.join(" ") }.uniq
          servers.any? ? super.merge("Servers" => servers.join(", ")) : super
        end

        # The beginning of a table's sentence.
        def finding(part, chapter)
          Report::Document::Finding.new(chapter.verdicts.first.sentence[/\A.*?(?=; |\.?\z)/m], part.name)
        end

        # The table's report, or the reason why there is none.
        def chapter(part)
          return part.note.to_s unless part.results
          view = Tables.fetch(part.name).view(part.results, command: command_of(part))
          view.build
        rescue StandardError => e # an error in one table's report must not prevent the other reports
          [part.note, "its report could not be made: #{e.message.lines.first&.strip} (#{e.class})"].compact.join("; ")
        end

        # Folds everything but the sentence and some tables: those of an article, or one short table.
        def add(document, part, chapter)
          document.section(chapter.is_a?(Report::Document) ? chapter.title : part.name, anchor: part.name) do |section|
            unless chapter.is_a?(Report::Document)
              section.text("There is no table: #{chapter}")
              next section.code(command_of(part))
            end
            section.text("Not complete: #{part.note}.") unless part.complete?
            chapter.verdicts.each { |verdict| section.add(verdict) }
            rest = elements(chapter)
            shown = unfolded(rest.grep(Report::Table), article(part))
            shown.each { |table| section.add(table) }
            section.fold("All of #{part.name}", rest.reject { |one| shown.any? { |table| table.equal?(one) } })
          end
        end

        def unfolded(tables, article)
          of_article = article ? tables.select { |table| table.title.match?(article) } : []
          of_article.any? ? of_article : tables.select { |table| table.rows.size <= ROWS }.first(1)
        end

        def elements(chapter)
          [Report::Document::Paragraph.new(chapter.subtitle), Report::Document::Code.new(chapter.command, nil),
           *chapter.sections.flat_map { |one| [Report::Document::Heading.new(one.title), *one.elements] }]
        end

        def article(part)
          view = Tables.fetch(part.name).view(part.results, command:)
          view.class.article if view.class.respond_to?(:article)
        end

        def overview(document)
          document.section("How long it took") do |section|
            table = Report::Table.new("All: tables", header: %w[table took state], command:)
            parts.each { |part| table.row(part.name, Report::Format.minutes(part.seconds), part.state) }
            section.fold("#{parts.size} tables", [table])
          end
        end

        def command_of(part) = Tables.command_line(part.name, part.arguments, command[/\A(.*?) all\b/, 1] || command)
      end

      NAME = "all"

      # Measures every table in a process of its own, and makes one report of all.
      class Command < CLI::Command
        FACTS = Facts.new(
          name: NAME,
          groups: [:constraints, :quick, :seed, :data, :url, :require, *Settings::OWN, *Settings::OUTPUTS],
          summary: "Makes every table, and one report of all of them.",
          examples: ["all --quick", "all --quick --html report.html", "all --only sizes,client --html report.html",
                     "all --only end-to-end --plan"]
        )

        def facts = FACTS

        def perform
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
          parser.on("--only A,B", Array, "only these of #{names.join(", ")}") do |given|
            unknown = given.find { |name| !names.include?(name) }
            raise UsageError, Catalogue.unknown("table", unknown, names) if unknown
            @only = given
          end
          parser.on("--within MINUTES", Float, "time limit: no table begins later (70; quick: 14.5)") do |minutes|
            raise UsageError, "--within #{minutes}: expected more than 0" unless minutes.positive?
            @minutes = minutes
          end
        end

        def chosen = @chosen ||= entries.select { |entry| @only.nil? || @only.include?(entry.name) }

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
          chosen.to_h do |entry|
            [entry, entry.expected_seconds(entry.used(given) + entry.used(timetable.options))]
          end
        end

        def take
          @left = expected
          @progress = Progress.new(err, expected_seconds: @left.each_value.sum)
          chosen.each do |entry|
            break if @interrupted
            part = measure(entry)
            @run.recorder.part(part.to_h)
            @interrupted = true if part.state == "interrupted"
          end
        rescue SignalException # between two tables
          @interrupted = true
        ensure
          @run.interrupted! if @interrupted
          @progress&.clear
        end

        def measure(entry)
          show = ->(line) { @progress.status("#{place(entry)}: #{line}") }
          part = timetable.time_left? ? child(entry).run(&show) : late(entry)
          @progress.say("#{entry.name}: #{[part.state, part.note].compact.join(", ")}; took " \
                        "#{Report::Format.minutes(part.seconds)}")
          part
        end

        def place(entry) = "#{chosen.index(entry) + 1}/#{chosen.size} #{entry.name}"

        def child(entry)
          place = File.join(folder, entry.name)
          FileUtils.mkdir_p(place)
          weighed, planned = shares(entry)
          Child.new(entry, more: entry.used(given), hidden: entry.used(timetable.options(weighed)), folder: place,
                           limit: timetable.limit(planned, @left.size - 1))
        end

        # The table's share of the time for all tables that are left: by weight, and by plan.
        def shares(entry)
          @left = @left.drop_while { |other, _| other != entry }.to_h
          [@left.to_h { |other, seconds| [other, seconds * other.weight] }, @left].map do |all|
            all.fetch(entry) / [all.each_value.sum, 1.0].max
          end
        end

        def late(entry)
          Part.new(name: entry.name, arguments: [*entry.arguments, *entry.used(given)], state: "out of time",
                   seconds: 0.0, note: timetable.no_time)
        end

        def parts = @run.recorder.document.fetch("parts", []).map { |record| Part.from(record) }

        def finish
          @run.finish("warnings" => warnings)
          @document = CLI.document(@run.results, program: @program)
          publish(path: @run.recorder.path)
          export(@run.recorder)
        end

        def warnings
          disturbed = parts.select { |part| part.results && part.results.fetch("warnings", []).any? }.map(&:name)
          words = "Warnings stand above the figures of these tables; read them first: #{disturbed.join(", ")}."
          [*unfinished, *(words if disturbed.any?)]
        end

        def unfinished
          late = parts.select { |part| part.state == "out of time" }.map(&:name)
          [*("Interrupted." if @interrupted), *("Out of time: #{late.join(", ")}; --only measures them." if late.any?)]
        end

        # Prints each table with its expected time.
        def plan
          rows = expected.map do |entry, seconds|
            [entry.name, Report::Format.minutes(seconds), [entry.name, *entry.arguments, *entry.used(given)].join(" ")]
          end
          table = Report::Table.new("Tables", header: %w[table expected command], rows:)
          out.puts "#{expected.size} tables in about #{Report::Format.minutes(expected.each_value.sum)}.", "",
                   Report::Terminal::TableView.new(table, style).columns
          ExitCodes::OK
        end
      end
    end
  end
end
