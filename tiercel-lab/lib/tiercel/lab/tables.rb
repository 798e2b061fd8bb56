# frozen_string_literal: true

require_relative "../lab"

module Tiercel::Lab
  # The tables, by the name of their command. Each is the `Table` of a module in `tables/`.
  module Tables
    extend Catalogue

    # The command that runs if none is named.
    DEFAULT = "compare"

    def self.noun = "command"

    # @return [Array<Class<Table>>] the tables of `lab all`, in their order
    def self.in_all = all.select(&:rank).sort_by(&:rank)

    # Creates the report of a run. The table that measured the run renders it.
    #
    # @param results [Hash{String => Object}]
    # @param program [String] the name of the command, for examples
    # @return [Report::Document]
    def self.report(results, program:)
      name, arguments = results["run"].values_at("command", "arguments")
      fetch(name).report(results, command: command_line(name, arguments, program))
    end

    # @return [String] the command line that repeats a run
    def self.command_line(name, arguments, program)
      unnamed = name == DEFAULT && (arguments.empty? || arguments.first.start_with?("-"))
      [program, *(name unless unnamed), *arguments.map { |word| spaced(word) }].join(" ")
    end

    # Quotes a word that a shell would split or interpret.
    def self.spaced(word) = word.match?(/[\s>|&;<()$?*]/) ? CommandLine.quote(word) : word
    private_class_method :spaced

    %w[table view profile gate compare compare/sides app boot capabilities client cold
       compressors end_to_end herd latency selfcheck serializers sizes sqlite switch].each do |file|
      require_relative "tables/#{file}"
    end
    Table.subclasses.reverse_each { |table| add table } # in the order of the files
  end
end
