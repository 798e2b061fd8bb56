# frozen_string_literal: true

require "fileutils"
require "json"
require "time"
require_relative "measurement"
require_relative "results"
require_relative "runner/machine"
require_relative "terminal/progress"

module Tiercel
  module Lab
    # A command's run: measures with progress on stderr, keeps everything in
    # the results as it comes, and survives Ctrl-C with what was measured.
    class Session
      # @return [Results::Recorder]
      attr_reader :recorder

      # @param settings [Settings]
      # @param command [String]
      # @param arguments [Array<String>]
      # @param err [IO]
      def initialize(settings, command:, arguments:, err:)
        @settings = settings
        @err = err
        @command = command
        @arguments = arguments
      end

      # @param comparisons [Array<Comparison>]
      # @param protocol [Protocol]
      # @param options [Hash] further ones of {Measurement#initialize}
      # @return [Measurement] with its cells summarized, also after an interruption
      def measure(comparisons, protocol: @settings.protocol, **options)
        protocol = @settings.bounded(protocol)
        start(protocol)
        progress = Terminal::Progress.new(@err, expected_seconds: Session.expected_seconds(comparisons, protocol))
        measurement = Measurement.new(comparisons, protocol:, seed: @settings.seed, requires: @settings.requires,
                                      progress:, **options)
        begin
          raise Interrupt if interrupted?
          measurement.run { |_value, cells| recorder.cells(cells) }
        rescue Interrupt
          @interrupted = true
          progress.say("interrupted; what was measured is kept")
        end
        progress.clear
        add_facts(measurement)
        measurement
      end

      # For what is not made of cells: progress, and Ctrl-C ends the block alone.
      #
      # @param expected_seconds [Float]
      # @yieldparam progress [Terminal::Progress] to be told of each step by `advance(seconds, what)`
      # @return [Object, nil] the block's value, nil after an interruption
      def watch(expected_seconds)
        start
        return if interrupted?
        progress = Terminal::Progress.new(@err, expected_seconds:)
        yield progress
      rescue Interrupt
        @interrupted = true
        progress.say("interrupted; what was measured is kept")
        nil
      ensure
        progress&.clear
      end

      # @return [Hash{String => Object}] the run as its file has it: what documents are made of
      def results = JSON.parse(JSON.generate(recorder.document))

      # Opens the results of a run; {#measure} does so by itself.
      #
      # @param protocol [Protocol]
      # @return [void]
      def start(protocol = @settings.protocol)
        return if @recorder
        @environment = Runner::Machine.describe.merge("pinning" => Runner::Pinning.new.to_s, "gems" => gems)
        run = { "command" => @command, "arguments" => @arguments, "seed" => @settings.seed,
                "protocol" => protocol.to_h, "started_at" => Time.now.utc.iso8601 }
        path = Results::Recorder.path(@command, directory: @settings.results)
        @recorder = Results::Recorder.new(path, run:, environment: @environment)
      end

      # Ends the results, and writes `--json`.
      #
      # @param more [Hash{String => Object}] other facts of the run
      # @return [void]
      def finish(more = {})
        start
        recorder.finish((@facts || {}).merge(more), complete: !interrupted?)
        recorder.export(@settings.json) if @settings.json
      end

      # Writes a report in the forms that the user asked for (--html, --markdown, --csv).
      #
      # @param document [Report::Document]
      # @return [void]
      def publish(document)
        require_relative "report"
        renderers = { html: Report::Html, markdown: Report::Markdown, csv: Report::Csv }
        @settings.reports.reject { |_form, file| file == Settings::OUTPUT }.each do |form, file|
          FileUtils.mkdir_p(File.dirname(File.expand_path(file)))
          File.write(file, renderers.fetch(form).render(document))
        end
      end

      # For what notices Ctrl-C by itself.
      #
      # @return [void]
      def interrupted! = @interrupted = true

      # @return [Boolean]
      def interrupted? = @interrupted ? true : false

      # @return [String] the machine in one line
      def machine = "#{Runner::Machine.sentence(@environment)}; #{@environment["pinning"]}"

      # @param comparisons [Array<Comparison>]
      # @param protocol [Protocol]
      # @return [Float] with as many blocks as its budget allows, and at least {Protocol::LEAST_BLOCKS}
      def self.expected_seconds(comparisons, protocol)
        all = seconds_of(comparisons, protocol)
        return all unless protocol.budget_seconds
        least = seconds_of(comparisons, protocol.vary(blocks: [Protocol::LEAST_BLOCKS, protocol.blocks].min))
        [all, [least, protocol.budget_seconds].max].min
      end

      def self.seconds_of(comparisons, protocol)
        workers = comparisons.group_by(&:value).each_value.sum do |of_value|
          of_value.flat_map { |comparison| comparison.bundles.keys }.uniq.size
        end
        comparisons.sum { |comparison| comparison.expected_seconds(protocol) } +
          (workers * protocol.processes * Protocol::WORKER_SECONDS)
      end
      private_class_method :seconds_of

      private

      def gems = Gem.loaded_specs.transform_values { |spec| spec.version.to_s }.sort.to_h

      # A command may measure several times.
      def add_facts(measurement)
        @facts ||= { "workload" => {}, "servers" => [], "disturbances" => [] }
        @facts["workload"].merge!(measurement.digests)
        @facts["servers"] |= measurement.servers
        @facts["disturbances"].concat(measurement.disturbances)
      end
    end
  end
end
