# frozen_string_literal: true

module Tiercel::Lab
  module CLI
    # A Ruby file of the user's (`--require`).
    module UserFile
      module_function

      # @param file [String]
      # @return [String] its full path
      # @raise [UsageError] if the file does not exist, raises, or ends the program
      def load(file)
        path = File.expand_path(file)
        raise UsageError, "--require #{file}: the file does not exist" unless File.file?(path)
        aside { require path }
        path
      rescue SystemExit, StandardError, ScriptError => e
        raise e if e.is_a?(UsageError)
        line = e.backtrace.to_a.find { |text| text.start_with?("#{path}:") }&.delete_prefix("#{path}:").to_i
        raise UsageError, "--require #{file}: #{e.message.lines.first.to_s.strip} (#{e.class})" \
                          "#{" in line #{line}" if line.positive?}"
      end

      # Sends to stderr what the file prints, because the output may be JSON (`--json -`).
      def aside
        kept = STDOUT.dup
        STDOUT.reopen(STDERR)
        yield
      ensure
        STDOUT.reopen(kept)
        kept.close
      end
      private_class_method :aside
    end

    # Shows the current measurement and the remaining time on stderr. At a terminal it overwrites one line; elsewhere
    # it prints a line from time to time.
    class Progress
      # Seconds between printed lines.
      PLAIN_SECONDS = 15
      # Overrides {PLAIN_SECONDS}, for programs that read the lines.
      PLAIN_VARIABLE = "TIERCEL_LAB_PROGRESS_SECONDS"
      # Seconds between updates at a terminal.
      LIVE_SECONDS = 0.2

      # @param io [IO]
      # @param expected_seconds [Float] expected duration of the whole run in seconds
      def initialize(io, expected_seconds:)
        @io = io
        @live = io.respond_to?(:tty?) && io.tty? && ENV["TERM"] != "dumb"
        @expected = expected_seconds
        @every = @live ? LIVE_SECONDS : Float(ENV.fetch(PLAIN_VARIABLE, PLAIN_SECONDS))
        @done = 0.0
        @started = now
        @shown = @live ? 0.0 : @started
      end

      # @param seconds [Float] planned time of the finished step
      # @param what [String] name of the finished step
      def advance(seconds, what)
        @done += seconds
        status("#{(100 * @done / @expected).clamp(0, 100).round} %, #{Report::Format.minutes(left)} left: #{what}")
      end

      # @param text [String] replaces the shown status, unless that is too new
      def status(text)
        return if now - @shown < @every
        @shown = now
        @live ? @io.print("\r\e[K#{text}") : @io.puts(text)
      end

      # @return [Numeric, nil] seconds that the run keeps within
      attr_writer :limit

      # @param seconds [Float] planned time of additional steps
      def expect(seconds) = @expected += seconds

      # @param comparison [String]
      # @param medians [Hash{String => Float}] nanoseconds of a call, by store
      def first_figures(comparison, medians)
        say("First figures, of one process: #{comparison}: " \
            "#{medians.map { |name, ns| "#{name} #{Report::Format.with_unit(ns / 1e3, "us")}" }.join(", ")}")
      end

      # @param text [String] a message
      def say(text)
        clear
        @io.puts text
      end

      # Clears the line.
      def clear = (@io.print("\r\e[K") if @live)

      # @return [Float] seconds
      def left
        spent = now - @started
        pace = @done.positive? ? spent / @done : 1.0
        [(@expected - @done) * pace, *(@limit - spent if @limit)].min.clamp(0.0..)
      end

      private

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end

    # The options that commands share. A command lists the options that it uses ({Tables::Table.takes}) and refuses all
    # other options. Every measuring command has {OWN} and {OUTPUTS}.
    class Settings
      DEFAULT_SEED = 1
      # The path that means standard output instead of a file.
      OUTPUT = "-"
      # The smallest value of --processes.
      LEAST_PROCESSES = 2

      # Options in groups that commands name, in the order of help, with an example for each option. Help shows the
      # first example of each group.
      GROUPS = {
        "The application" => { constraints: "--machines 2 --survives restart", now: "--now redis_cache_store",
                               profile: "--profile page.yml" },
        "How long" => { quick: "--quick", plan: "--plan", seed: "--seed 7", budget: "--budget 60",
                        processes: "--processes 12" },
        "On what" => { data: "--data storage/fragments", url: "--url production=redis://10.0.0.7:6379/0",
                       require: "--require my_store.rb" },
        "Results" => { results: "--results runs", json: "--json -", reports: "--html report.html" }
      }.freeze
      OWN = %i[plan results json].freeze
      OUTPUTS = %i[reports].freeze

      # Options that set one value each.
      VALUES = {
        quick: ["--quick", "a short run: finds only differences of over 10 %"],
        plan: ["--plan", "print what would be measured, and how long it takes"],
        seed: ["--seed N", Integer, "seed of values and orders (#{DEFAULT_SEED})"],
        data: ["--data DIR", "your own files as values"],
        results: ["--results DIR", "folder for kept runs; created if missing"],
        json: ["--json FILE", "also write the run as one JSON document; - prints it"]
      }.freeze
      attr_reader(*VALUES.keys)

      # @return [Hash{Symbol => String}] files for reports, by :html, :markdown, :csv
      attr_reader :reports
      # @return [Array<String>] Ruby files with the user's contestants
      attr_reader :requires
      # @return [Array<Contestant>] contestants of --url
      attr_reader :urls

      def initialize
        @seed = DEFAULT_SEED
        @requires = []
        @urls = []
        @constraints = {}
        @reports = {}
        @quick = @plan = false
        @results = Engine::Recorder.default_directory
      end

      # @param protocol [Engine::Protocol]
      # @return [Engine::Protocol] with the limits of --budget and --processes
      def bounded(protocol)
        protocol = protocol.with(budget_seconds: [@budget, protocol.budget_seconds].compact.min) if @budget
        return protocol unless @processes
        protocol.with(processes: [protocol.processes, @processes].min, most_processes: @processes)
      end

      # @return [Engine::Protocol]
      def protocol = quick ? Engine::Protocol::QUICK : Engine::Protocol::FULL

      # @return [Answer::Constraints] the user's, completed by the machine's suggestions
      def constraints = @suggested ||= Answer::Constraints.suggested(Engine::Machine.describe, **@constraints)

      # @return [Boolean] whether the user gave any
      def constrained? = @constraints.any?

      # @return [Array<String>] files of the requested reports
      def report_files = reports.values - [OUTPUT]

      # @param groups [Array<Symbol>] of {GROUPS}
      # @param parser [OptionParser]
      # @return [OptionParser]
      def parser(groups, parser)
        GROUPS.each do |title, all|
          used = all.slice(*groups)
          parser.separator("\n#{title}, such as #{used.each_value.first}:") if used.any?
          used.each_key { |name| VALUES.key?(name) ? add_value(name, parser) : send(:"add_#{name}", parser) }
        end
        parser
      end

      # Checks all options together before the measurement: contradictions, and missing folders.
      #
      # @raise [UsageError]
      def check
        raise UsageError, "--processes #{@processes}: a quick run has a fixed number" if @processes && quick
        [*report_files, *(json unless json == OUTPUT)].each { |file| Folder.check_of(file, file) }
      end

      # @return [Answer::Page] the user's, or the assumed one
      def page = @page || Answer::Page::ASSUMED

      # @return [String, nil] text of the store that the application has now
      def now
        return @now if defined?(@now)
        @now = Answer::Now.found
      end

      private

      def add_value(name, parser) = parser.on(*VALUES.fetch(name)) { |given| instance_variable_set(:"@#{name}", given) }

      def add_now(parser)
        parser.on("--now STORE", "the store that you have (else of config/environments/production.rb)") do |text|
          @now = Answer::Now.named(text)
        end
      end

      def add_profile(parser)
        parser.on("--profile FILE", "your page, as `bin/rails cache:profile FILE` writes it") do |file|
          @page = Answer::Page.read(file)
        end
      end

      def add_constraints(parser)
        { machines: "that share the cache (1)", workers: "on each machine (its cores)" }.each do |name, words|
          parser.on("--#{name} N", Integer, words) do |number|
            @constraints[name] = Answer::Constraints.count(name, number)
          end
        end
        parser.on("--memory SIZE", "memory for the cache on each machine, such as 512MB") do |size|
          @constraints[:memory_bytes] = Answer::Constraints.bytes(size)
        end
        events = Answer::Constraints::SURVIVES
        parser.on("--survives WHAT", "#{events.join(", ")}: the event that entries must survive") do |what|
          raise UsageError, "--survives #{what}: expected #{events.join(", ")}" unless events.include?(what)
          @constraints[:survives] = what
        end
      end

      def add_budget(parser)
        parser.on("--budget SECONDS", Float, "time limit: a late run makes fewer processes") do |seconds|
          raise UsageError, "--budget #{seconds}: expected more than 0" unless seconds.positive?
          @budget = seconds
        end
      end

      def add_processes(parser)
        parser.on("--processes N", Integer,
                  "the most processes for undecided cells (#{Engine::Protocol::FULL.most_processes})") do |most|
          raise UsageError, "--processes #{most}: expected #{LEAST_PROCESSES} or more" if most < LEAST_PROCESSES
          @processes = most
        end
      end

      def add_url(parser)
        parser.on("--url NAME=URL",
                  "your own server or store (memcached://, redis://, TYPE:PLACE): gets a key prefix, " \
                  "is never flushed; repeatable") do |text|
          raise UsageError, "--url #{text}: expected NAME=URL" unless text.match?(/\A[\w.-]+=\S/)
          @urls << Contestants.parse(text)
        end
      end

      def add_require(parser)
        parser.on("--require FILE", "Ruby file that defines your own stores") do |file|
          @requires |= [UserFile.load(file)]
        end
      end

      # Refuses `--markdown kept.jsonl`: the user has most likely forgotten the report's file, and it would overwrite
      # results.
      def add_reports(parser)
        parser.on("--html FILE", "report as one HTML file") { |file| @reports[:html] = file }
        parser.on("--csv FILE", "tables for a spreadsheet") { |file| @reports[:csv] = file }
        parser.on("--markdown [FILE]", "report as Markdown, into a file or printed") do |file|
          if file&.match?(/\.jsonl?\z/)
            raise UsageError, "--markdown #{file}: this is a file of results; write --markdown=FILE"
          end
          @reports[:markdown] = file || OUTPUT
        end
      end
    end
  end
end
