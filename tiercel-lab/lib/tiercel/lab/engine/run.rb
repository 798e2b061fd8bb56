# frozen_string_literal: true

module Tiercel::Lab
  module Engine
    # Writes a run into a file while it is measured, so that an interrupted run keeps its results. Each part ("run",
    # "cell", "table", "part", "end") is one JSON line. The recorder also keeps the run as one document.
    class Recorder
      SCHEMA = "tiercel-lab/1"

      # @param command [String] its name
      # @return [String] path of the run's file
      def self.path(command, directory:, started_at: Time.now)
        stamp = started_at.utc.strftime("%Y%m%dT%H%M%SZ")
        File.join(directory, "#{stamp}-#{command}-#{Process.pid}.jsonl")
      end

      # @return [String] the folder of TIERCEL_LAB_RESULTS, or the user's data folder
      def self.default_directory
        ENV.fetch("TIERCEL_LAB_RESULTS") { UserFolders.data("results") }
      end

      attr_reader :path
      # @return [Array<String>] lines that could not be written, such as those of a full disk
      attr_reader :unwritten
      # @return [SystemCallError, nil] the reason
      attr_reader :error
      # @return [Hash{String => Object}] the run as one document, see schema/tiercel-lab-1.json
      attr_reader :document

      # @param run [Hash{String => Object}] command, arguments, seed, protocol, started_at
      # @param environment [Hash{String => Object}] see {Machine}
      # @raise [UsageError] if the file cannot be written
      def initialize(path, run:, environment:)
        @path = path
        @unwritten = []
        @document = { "schema" => SCHEMA, "run" => run, "environment" => environment, "workload" => {},
                      "cells" => [], "tables" => [], "complete" => false }
        FileUtils.mkdir_p(File.dirname(path))
        append("type" => "run", "schema" => SCHEMA, "run" => run, "environment" => environment)
      rescue SystemCallError => e
        raise UsageError, "results cannot be kept: #{Folder.not_written(path, e)}; --results DIR names another folder"
      end

      # @param cells [Array<Cell>]
      def cells(cells)
        cells.map(&:record).each { |record| add("cell", record) }
      end

      # Records a table without cells (hit ratios, memory, percentiles).
      #
      # @param rows [Array<Hash{String => Object}>]
      # @param notes [Hash{Symbol => Object}] facts about the whole table
      def table(name, rows, **notes) =
        add("table", "name" => name, "rows" => rows, "notes" => notes.transform_keys(&:to_s))

      # Records a whole run of another command, as part of this one.
      #
      # @param record [Hash{String => Object}] see {CLI::Part#to_h}
      def part(record) = add("part", record)

      # @param facts [Hash{String => Object}] "workload" (digests), "servers", "disturbances"
      # @param complete [Boolean] false after an interruption
      def finish(facts, complete:)
        @document.merge!(facts)
        @document["complete"] = complete
        keep({ "type" => "end", "complete" => complete }.merge(facts))
      end

      def export(file) = File.write(file, "#{JSON.generate(@document)}\n")

      private

      def add(kind, record)
        (@document["#{kind}s"] ||= []) << record
        keep("type" => kind, kind => record)
      end

      # A full disk ends no run: the next record tries again, and the report is made from the document.
      def keep(record)
        append(record)
      rescue SystemCallError => e
        @error = e
      end

      # Leaves no part of a line, which would make the file unreadable.
      def append(record)
        @unwritten << "#{JSON.generate(record)}\n"
        File.open(@path, "a") do |file|
          file.sync = true
          size = file.size
          file.write(*@unwritten)
        rescue SystemCallError
          file.truncate(size)
          raise
        end
        @unwritten.clear
      end
    end

    # Reads the results of a run from its file.
    module Results
      # The warning about a run whose file has no end record.
      KILLED = "The run was killed, or still runs: tables, cells or processes are missing."

      # @param path [String] a run's JSON lines, or a document of `--json`
      # @return [Hash{String => Object}] the document, see schema/tiercel-lab-1.json
      # @raise [UsageError] if it is neither; the message says what the file is
      def self.load(path)
        raise UsageError, "#{path}: a folder; name a file of results" if File.directory?(path)
        records = parse(path, File.readlines(path, encoding: Encoding::UTF_8).map(&:scrub).grep(/\S/))
        document = records.first.key?("type") ? assemble(records) : records.first
        run, schema = document.values_at("run", "schema")
        return document if schema == Recorder::SCHEMA && run.is_a?(Hash) && run.key?("command")
        raise UsageError, "#{path}: JSON, but not a result of the lab (its schema is #{schema.inspect}, expected " \
                          "#{Recorder::SCHEMA} and a command)"
      rescue SystemCallError => e
        raise UsageError, "#{path}: #{e.is_a?(Errno::ENOENT) ? "the file does not exist" : Folder.reason(e)}"
      end

      # Ignores an incomplete last line, which a killed run may leave.
      def self.parse(path, lines)
        raise UsageError, "#{path}: empty, not a result of the lab" if lines.empty?
        lines.each_with_index.filter_map do |line, index|
          record = JSON.parse(line)
          record.is_a?(Hash) ? record : raise(JSON::ParserError)
        rescue JSON::ParserError
          next if index == lines.size - 1 && index.positive?
          raise UsageError, "#{path}: not a result of the lab: line #{index + 1} is no JSON object " \
                            "(#{line.strip.slice(0, 40).inspect}); expected the JSON lines of a run, which prints " \
                            "their path last, or one document of --json"
        end
      end
      private_class_method :parse

      def self.assemble(records)
        document = { "workload" => {}, "cells" => [], "tables" => [], "complete" => false }
        document["warnings"] = [KILLED] if records.none? { |record| record["type"] == "end" }
        records.each do |record|
          case record["type"]
          when "cell" then document["cells"] << record["cell"]
          when "table" then document["tables"] << record["table"]
          when "part" then (document["parts"] ||= []) << record["part"]
          else document.merge!(record.except("type"))
          end
        end
        document
      end
      private_class_method :assemble
    end

    # Connects to every server of the user's before the measurement: an unreachable one would cost the whole run.
    module Reachable
      SECONDS = 2.0
      # HOST:PORT after a scheme, a user, or a store's type.
      PLACE = %r{(?:(?<=//)|(?<=@)|(?<=,)|(?<=mem_cache_store:))([\w.-]+|\[[\h:]+\]):(\d{1,5})}

      module_function

      # @param contestants [Array<Contestant>]
      # @raise [UsageError] names the server
      def check(contestants)
        contestants.select(&:foreign?).map(&:text).uniq.each do |text|
          text.scan(PLACE) { |host, port| connect(text, host.delete("[]"), Integer(port, 10)) }
        end
      end

      def connect(text, host, port)
        Socket.tcp(host, port, connect_timeout: SECONDS).close
      rescue SystemCallError, SocketError, IOError => e
        raise UsageError, "#{text.sub(%r{//[^@/]*@}, "//")}: #{host}:#{port} does not answer " \
                          "(#{e.message[/\A[^-]*/].strip}); nothing was measured"
      end
    end

    # A command's run: it measures, records every result at once, and keeps the recorded results after Ctrl-C.
    class Run
      # @param command [String] its name
      # @param arguments [Array<String>] the command line's arguments
      # @param settings [#seed, #requires, #results, #protocol, #bounded] the user's options
      # @param progress [#call] builds a progress display for a number of expected seconds
      def initialize(command:, arguments:, settings:, progress:)
        @command = command
        @arguments = arguments
        @settings = settings
        @progress = progress
        @facts = { "workload" => {}, "servers" => [], "disturbances" => [] }
      end

      # @param comparisons [Array<Comparison>]
      # @param options [Hash] other options of {Measurement#initialize}
      # @return [Measurement] the measurement with summarized cells, also after an interruption
      def measure(comparisons, protocol: @settings.protocol, **options)
        protocol = @settings.bounded(protocol)
        Reachable.check(comparisons.flat_map { |one| one.arms.map(&:contestant) })
        start(protocol)
        measurement = Measurement.new(comparisons, protocol:, seed: @settings.seed, requires: @settings.requires,
                                      **options)
        watch(Measurement.expected_seconds(comparisons, protocol)) do |progress|
          measurement.progress = progress
          progress.limit = protocol.budget_seconds
          measurement.run { |_value, cells| recorder.cells(cells) }
        end
        add_facts(measurement)
        measurement
      end

      # Shows progress. Ctrl-C and SIGTERM end the block, not the run.
      #
      # @yieldparam progress [#advance, #expect, #say] receives each step by `advance(seconds, what)`
      # @return [Object, nil] the block's value, nil after an interruption
      def watch(expected_seconds, &)
        start
        follow(@progress.call(expected_seconds), &) unless interrupted?
      end

      # Runs a table's trial and records its servers.
      #
      # @param trial [Trial]
      # @param expected_seconds [Float]
      def try(trial, expected_seconds)
        watch(expected_seconds) { |progress| trial.run(progress) }
        @facts["servers"] |= trial.servers
      end

      # Records a table that has no cells.
      def table(...) = recorder.table(...)

      # @return [Recorder, nil] nil until the first measurement opens the results file
      attr_reader :recorder

      # @return [Hash{String => Object}] the run in the form of its file, from which reports are made
      def results = JSON.parse(JSON.generate(recorder.document))

      # Opens the results file.
      def start(protocol = @settings.protocol)
        return if recorder
        environment = Machine.describe.merge("pinning" => Pinning.new.to_s, "gems" => gems)
        run = { "command" => @command, "arguments" => @arguments, "seed" => @settings.seed,
                "protocol" => protocol.to_h, "started_at" => Time.now.utc.iso8601 }
        path = Recorder.path(@command, directory: @settings.results)
        @recorder = Recorder.new(path, run:, environment:)
      end

      # @param more [Hash{String => Object}] additional facts of the run
      def finish(more = {})
        start
        recorder.finish(@facts.merge(more), complete: !interrupted?)
      end

      # Shows a message before the measurement, for steps that take a long time.
      def say(text) = @progress.call(1.0).say(text)

      # Marks the run as interrupted, for callers that handle Ctrl-C themselves.
      def interrupted! = @interrupted = true

      def interrupted? = @interrupted ? true : false

      # @param measurements [Array<Measurement>]
      # @return [Array<String>] reasons to doubt the figures
      def warnings(measurements)
        Warnings.of(measurements.flat_map(&:disturbances), measurements.flat_map(&:cells), interrupted: interrupted?)
      end

      private

      def follow(progress)
        yield progress
      rescue SignalException
        interrupted!
        progress.say("interrupted; the results so far are kept")
        nil
      ensure
        progress.clear
      end

      def gems = Gem.loaded_specs.transform_values { |spec| spec.version.to_s }.sort.to_h

      # Adds the facts up, because a command may measure several times.
      def add_facts(measurement)
        @facts["workload"].merge!(measurement.digests)
        @facts["servers"] |= measurement.servers
        @facts["disturbances"].concat(measurement.disturbances)
      end
    end
  end
end
