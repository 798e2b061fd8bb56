# frozen_string_literal: true

require "erb"
require "pathname"

module Tiercel::Lab
  module CLI
    # Measures a table, keeps the run, and prints the report of the kept run.
    class TableCommand < Command
      # Maximum number of stores that a plan names for a comparison (`end-to-end` has 36).
      MOST_STORES = 6
      private_constant :MOST_STORES

      # @return [Hash{String => Object}, nil] the results, in the form of the file
      attr_reader :results
      # @return [Engine::Run, nil]
      attr_reader :run

      # @param table [Class<Tables::Table>]
      def initialize(table, **)
        super(**)
        @named = @table_class = table
      end

      def facts
        Facts.new(name: @table_class.name, summary: @table_class.summary, examples: @table_class.examples,
                  groups: [*@table_class.taken, *Settings::OWN, *Settings::OUTPUTS])
      end

      def perform
        return plan if settings.plan
        @run = Engine::Run.new(command: name, arguments: @arguments, settings:,
                               progress: ->(expected_seconds) { Progress.new(err, expected_seconds:) })
        @results = table.measure(run)
        @document = @table_class.report(results, command: Tables.command_line(name, @arguments, @program))
        publish(path: run.recorder.path)
        export(run.recorder)
        check_file(run.recorder)
        run.interrupted? ? ExitCodes::INTERRUPTED : @table_class.exit_code(results)
      rescue CannotRun => e # a side that cannot be built leaves nothing to compare
        err.puts "#{@program}: #{e.message}"
        ExitCodes::UNDECIDED
      end

      # Estimates the time of a call without measuring.
      #
      # @param arguments [Array<String>]
      # @return [Float, nil] seconds; nil if the table has no estimate
      # @raise [OptionParser::ParseError, UsageError]
      def estimate(arguments)
        prepare(arguments)
        table.expected_seconds
      end

      private

      def check_file(recorder)
        return if recorder.unwritten.empty?
        why = Folder.not_written(recorder.path, recorder.error)
        raise UsageError, "#{why}; #{Report::Format.several(recorder.unwritten.size, "record")} of this run are missing"
      end

      # A new table for each command line, because options change it.
      def table = @table ||= @table_class.new(settings)

      def choose(words)
        @table_class = @named.variant(words)
        @table = @parser = nil
      end

      def options(parser) = table.options(parser)

      def accept(rest) = table.accept(rest)

      def usage
        named = @table_class.usage
        named ? command_line(name, named, "[options]") : super
      end

      # The last line has the time of all measurements, including those without cells.
      def plan
        comparisons, seconds = table.plan, table.expected_seconds
        words = [table.plan_in_words, *(planned(comparisons, settings.bounded(table.protocol)) if comparisons.any?),
                 *("In all about #{Report::Format.minutes(seconds)}." if seconds)].compact
        out.puts words.any? ? words.join("\n\n") : @table_class.summary
        ExitCodes::OK
      end

      # @return [Array<String>]
      def planned(comparisons, protocol)
        servers = comparisons.flat_map(&:servers).uniq
        width = comparisons.map { |one| one.id.size }.max
        lines = comparisons.map do |one|
          names = one.arms.select(&:row?).map(&:name)
          more = "and #{names.size - MOST_STORES} more" if names.size > MOST_STORES
          format("%-#{width}s %9s  %s", one.id, Report::Format.minutes(one.expected_seconds(protocol)),
                 [names.first(MOST_STORES).join(", "), *more].join(" "))
        end
        ["#{Report::Format.several(comparisons.sum { |one| one.arms.count(&:row?) }, "cell")}: " \
         "#{protocol.size_words}; #{servers.any? ? "servers to start: #{servers.join(", ")}" : "no servers"}.",
         lines.join("\n")]
      end
    end

    # Renders a kept run again.
    class ReportCommand < Command
      FACTS = Facts.new(
        name: "report", groups: Settings::OUTPUTS,
        summary: "Renders a kept run again.",
        examples: ["report 20261120T180000Z-compare-4711.jsonl --html report.html"]
      )

      def facts = FACTS

      def perform
        @document = CLI.document(Engine::Results.load(@file), program: @program)
        publish(path: @file)
        ExitCodes::OK
      end

      private

      def usage = command_line(name, "FILE [options]")

      def accept(rest)
        raise UsageError, "report: name one file of results (a run prints its path last)" unless rest.one?
        @file = rest.first
      end
    end

    # Shows results over time, and alerts.
    class HistoryCommand < Command
      FACTS = Facts.new(
        name: "history", groups: Settings::OUTPUTS,
        summary: "Results over time: steps, the revisions that made them, alerts.",
        examples: ["history results --html history.html", "history results --since 2026-10-01",
                   "history results --least 0.05 --runs 30"]
      )

      def facts = FACTS

      def perform
        archive = History::Archive.new(@folder, since: @since)
        changes = History::Changes.new(archive.series, **{ least: @least, runs: @runs }.compact)
        @document = History::View.new(archive, changes, command: command_line(name, *@arguments)).build
        publish
        changes.alerts.any? ? ExitCodes::DOES_NOT_HOLD : ExitCodes::OK
      end

      private

      def usage = command_line(name, "DIR [options]")

      def options(parser)
        parser.on("--since WHEN", "only runs since a date (2026-10-01) or a revision") { |text| @since = text }
        parser.on("--least SHARE", Float, "smallest increase of an alert (#{History::Changes::LEAST})") do |share|
          raise UsageError, "--least #{share}: expected 0 or more" if share.negative?
          @least = share
        end
        parser.on("--runs N", Integer, "alerts are steps in the last N runs (#{History::Changes::RUNS})") do |runs|
          raise UsageError, "--runs #{runs}: expected 1 or more" unless runs.positive?
          @runs = runs
        end
      end

      def accept(rest)
        raise UsageError, "history: name one folder of results" unless rest.size == 1
        @folder = rest.first
      end
    end
  end

  module CLI
    # Writes the files that a gem's or a Rails application's repository needs for gates and histories. The command does
    # not overwrite existing files.
    class InitCommand < Command
      FACTS = Facts.new(name: "init", groups: [],
                        summary: "Writes what CI needs: `init gate`, `init ci`.",
                        examples: ["init gate", "init ci", "init ci --servers redis,memcached", "init gate --force"])
      KINDS = %w[gem rails].freeze
      TEMPLATES = File.expand_path("init/templates", __dir__)
      # Path in the repository and template, by purpose.
      PATHS = {
        "gate" => { ".tiercel-lab.yml" => "gate.yml", "bench/SUBJECT_bench.rb" => "KIND_bench.rb" },
        "ci" => { ".github/workflows/benchmarks.yml" => "benchmarks.yml",
                  ".github/workflows/benchmark-history.yml" => "history.yml" }
      }.freeze
      # Names of the servers' packages in Debian.
      PACKAGES = { "memcached" => "memcached", "redis" => "redis-server" }.freeze

      def facts = FACTS

      def perform
        @folder = File.expand_path(@folder || Dir.pwd)
        raise UsageError, "#{@folder}: the folder does not exist" unless File.directory?(@folder)
        refuse_a_part_of_a_repository
        @servers ||= []
        @kind ||= File.exist?(File.join(@folder, "config/application.rb")) ? "rails" : "gem"
        subject = @kind == "rails" ? "requests" : gem_name
        out.puts @what.flat_map { |what| PATHS.fetch(what).to_a }.map { |path, template|
          write(path.sub("SUBJECT", subject), render(template.sub("KIND", @kind)))
        }, "", advice
        ExitCodes::OK
      end

      private

      def usage = command_line(name, "gate|ci [options]")

      def options(parser)
        parser.on("--kind KIND", KINDS, "#{KINDS.join(" or ")} (by its files)") { |kind| @kind = kind }
        known = Tables::Gate::Configuration::SERVERS
        parser.on("--servers A,B", Array, "that benchmarks use: #{known.join(", ")}") { |names| @servers = names }
        parser.on("--repository DIR", "folder of the repository (.)") { |folder| @folder = folder }
        parser.on("--force", "replace existing files") { @force = true }
      end

      # `ci` needs the files of `gate`.
      def accept(rest)
        @what = { ["gate"] => %w[gate], ["ci"] => %w[gate ci] }[rest]
        raise UsageError, "#{["init", *rest].join(" ")}: expected gate or ci" unless @what
        unknown = @servers.to_a - Tables::Gate::Configuration::SERVERS
        return if unknown.empty?
        raise UsageError, Catalogue.unknown("server", unknown.first, Tables::Gate::Configuration::SERVERS)
      end

      # Neither a gate nor GitHub looks for the files in a subfolder.
      def refuse_a_part_of_a_repository
        root = Pathname.new(@folder).ascend.find { |folder| folder.join(".git").exist? }.to_s
        return if ["", @folder].include?(root)
        raise UsageError, "#{@folder} is a part of the repository #{root}: what gates lies in its root " \
                          "(--repository #{root})"
      end

      def gem_name
        @gem_name ||= Dir.glob("*.gemspec", base: @folder).min&.delete_suffix(".gemspec") || File.basename(@folder)
      end

      # The gem's feature by Ruby's convention: dashes are folders.
      def feature = gem_name.tr("-", "/")

      def packages = @servers.map { |name| PACKAGES.fetch(name) }.join(" ")

      def render(name) = ERB.new(File.read(File.join(TEMPLATES, name)), trim_mode: "-").result(binding)

      def write(path, text)
        target = File.join(@folder, path)
        return "kept     #{path} (--force replaces it)" if File.exist?(target) && !@force
        FileUtils.mkdir_p(File.dirname(target))
        File.write(target, text)
        "written  #{path}"
      rescue SystemCallError => e
        raise UsageError, "#{Folder.not_written(target, e)}; --repository DIR names another folder"
      end

      # @return [Array<String>] the user's next steps
      def advice
        gemfile = File.join(@folder, "Gemfile")
        known = File.exist?(gemfile) ? File.read(gemfile) : ""
        missing = %w[tiercel-lab vernier].reject { |name| known.include?(name) }
        [*missing.map { |name| "Add to the Gemfile: gem \"#{name}\", group: :development, require: false" },
         "What gates is in .tiercel-lab.yml; benchmarks are in bench/. Then: bundle exec tiercel-lab gate"]
      end
    end
  end
end
