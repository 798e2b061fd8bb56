# frozen_string_literal: true

require_relative "contestants"
require_relative "protocol"
require_relative "results"
require_relative "values"

module Tiercel
  module Lab
    # What every command takes: how long to measure, the seed, where results go, what is the user's own.
    class Settings
      DEFAULT_SEED = 1
      # In place of a file: the command's output.
      OUTPUT = "-"

      # @return [Boolean]
      attr_reader :quick
      # @return [Boolean] print what would be measured, measure nothing
      attr_reader :plan
      # @return [Numeric, nil] seconds that cells may take together; with fewer blocks where they are behind
      attr_reader :budget
      # @return [Integer]
      attr_reader :seed
      # @return [String, nil] file for the run as one JSON document
      attr_reader :json
      # @return [Hash{Symbol => String}] files for reports, by :html, :markdown, :csv
      attr_reader :reports
      # @return [String, nil] folder with the user's own values
      attr_reader :data
      # @return [Array<String>] Ruby files with contestants of the user's
      attr_reader :requires
      # @return [Array<Contestant>] of --url
      attr_reader :urls
      # @return [String] folder of the results
      attr_reader :results

      def initialize
        @seed = DEFAULT_SEED
        @requires = []
        @urls = []
        @reports = {}
        @quick = @plan = false
        @budget = nil
        @results = Results::Recorder.default_directory
      end

      # @param protocol [Protocol]
      # @return [Protocol] the same within --budget
      def bounded(protocol)
        protocol = protocol.vary(budget_seconds: [budget, protocol.budget_seconds].compact.min) if budget
        return protocol unless @most_processes && protocol.equality
        protocol.vary(processes: [protocol.processes, @most_processes].min, most_processes: @most_processes)
      end

      # @return [Protocol]
      def protocol = quick ? Protocol::QUICK : Protocol::FULL

      # @param parser [OptionParser]
      # @return [void]
      def options(parser)
        parser.on("--quick", "a short look: says faster or slower only beyond 10 %") { @quick = true }
        parser.on("--plan", "print what would be measured and how long it takes, measure nothing") { @plan = true }
        parser.on("--seed N", Integer, "of values and orders (#{DEFAULT_SEED})") { |seed| @seed = seed }
        parser.on("--processes N", Integer,
                  "at most, where cells are undecided (#{Protocol::FULL.most_processes})") do |most|
          raise UsageError, "--processes #{most}: expected 2 or more" if most < 2
          @most_processes = most
        end
        parser.on("--budget SECONDS", Float, "fewer blocks, at least two, where cells would take longer") do |seconds|
          @budget = seconds
        end
        parser.on("--data DIR", "your own files as values") { |directory| @data = directory }
        parser.on("--url NAME=URL", "a server or store of yours: memcached://, redis://, or TYPE:PLACE;",
                  "own key prefix, never flushed") { |text| add_url(text) }
        parser.on("--require FILE", "Ruby file that registers contestants") { |file| add_require(file) }
        parser.on("--json FILE", "also write the run as one JSON document") { |file| @json = file }
        { html: "a report in one file", csv: "tables for a spreadsheet" }.each do |form, words|
          parser.on("--#{form} FILE", words) { |file| @reports[form] = file }
        end
        parser.on("--markdown [FILE]", "tables to paste, into a file or onto the output") { |file| add_markdown(file) }
        parser.on("--results DIR", "where runs are kept (#{@results})") { |directory| @results = directory }
      end

      private

      # `--markdown kept.jsonl` is far more likely to have forgotten the file than to mean to overwrite results.
      def add_markdown(file)
        raise UsageError, "--markdown #{file}: a file of results; say --markdown=FILE" if file&.match?(/\.jsonl?\z/)
        @reports[:markdown] = file || OUTPUT
      end

      def add_url(text)
        raise UsageError, "--url #{text}: expected NAME=URL" unless text.match?(/\A[\w.-]+=\S/)
        @urls << Contestants.parse(text)
      end

      def add_require(file)
        path = File.expand_path(file)
        raise UsageError, "--require #{file}: there is no such file" unless File.file?(path)
        require path
        @requires << path
      end
    end
  end
end
