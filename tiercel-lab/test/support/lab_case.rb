# frozen_string_literal: true

require "test_helper"
require "stringio"
require "tmpdir"
require "tiercel/lab/cli"
require "tiercel/lab"
require_relative "../../musts/choice"
require_relative "planted"
require_relative "schema"

# Workers of tests run on any CPU: pinned to the second one, they would wait for each other.
Tiercel::Lab::Engine::Pinning.singleton_class.prepend(Module.new { def taskset? = false })

# The base class of the lab's tests.
class LabCase < Tiercel::TestCase
  Lab = Tiercel::Lab
  PLANTED = File.expand_path("planted.rb", __dir__)
  SCHEMA = Schema.fetch("tiercel-lab/1")

  # A protocol for tests that ignore the figures. Each process takes a second of CPU time.
  TINY = Lab::Engine::Protocol::QUICK.with(processes: 1, blocks: 2, slice_ns: 500_000, budget_seconds: nil)

  # @return [Hash{String => Cell}] by the arm's name
  def measure(*stores, operation: "read", value: "string-100b", protocol: TINY, seed: 1)
    comparison = compare(*stores, operation:, value:)
    cells = Lab::Engine::Measurement.new([comparison], protocol:, seed:, requires: [PLANTED]).run
    cells.to_h { |cell| [cell.arm.name, cell] }
  end

  def compare(*stores, operation: "read", value: "string-100b")
    contestants = stores.map { |text| Lab::Contestants.parse(text) }
    Lab::Engine::Comparison.of(value: Lab::Values.fetch(value), operation: Lab::Operations.fetch(operation),
                               contestants:)
  end

  # @return [Float] normally distributed, by Box and Muller's method
  def normal(random) = Math.sqrt(-2 * Math.log(1 - random.rand)) * Math.cos(2 * Math::PI * random.rand)

  # A progress that nobody sees.
  def progress = Lab::CLI::Progress.new(StringIO.new, expected_seconds: 1)

  # A cell with generated slices of one call: nanoseconds by process and block.
  def cell_of(comparison, arm, blocks)
    Lab::Engine::Cell.new(comparison, arm).tap do |cell|
      blocks.each_with_index do |of_process, process|
        of_process.each_with_index do |ns, block|
          cell.slices << Lab::Engine::Cell::Slice.new(process, block, 0, 1, ns, 0, ns, 0)
        end
      end
    end
  end

  # @return [Array(Integer, String, String)] exit code, output, errors
  def lab(*arguments, out: StringIO.new)
    err = StringIO.new
    [Lab::CLI.run(arguments, out:, err:, program: "bin/lab"), out.string, err.string]
  end

  # Measures a table with the shortest protocol. Checks its results against the schema, and that rendering them from
  # their file gives the same bytes.
  #
  # @yieldparam code [Integer] exit code
  # @yieldparam command [CLI::TableCommand] the command, with document, results, out, err
  def run_table(table, *arguments, protocol: TINY)
    short = Class.new(table) { define_method(:protocol) { protocol } }
    short.called(table.name, table.summary)
    short.define_singleton_method(:variant) { |_words| self }
    run_command(short, *arguments) do |code, command|
      check_results(command) if command.results
      yield code, command
    end
  end

  # Measures a table. Its results are in a folder that is removed afterwards.
  #
  # @yieldparam code [Integer] exit code
  # @yieldparam command [CLI::TableCommand] the command, with document, results, out, err
  def run_command(table, *arguments)
    Dir.mktmpdir do |folder|
      command = Lab::CLI::TableCommand.new(table, out: StringIO.new, err: StringIO.new, program: "bin/lab")
      code = command.call([*arguments, "--results", folder])
      yield code, command
    end
  end

  # @param complaints [Hash{Array<String> => Regexp}] what the command says about each command line
  # @param more [Array<String>] further words of each
  def assert_refused(complaints, more = [])
    complaints.each do |arguments, complaint|
      code, out, err = lab(*arguments, *more)
      assert_equal [2, ""], [code, out], arguments.inspect
      assert_match complaint, err
    end
  end

  def check_results(command)
    assert_empty SCHEMA.errors(command.results)
    return if command.settings.reports[:markdown]
    kept = command.run.recorder.path
    assert_equal [0, command.out.string, ""], lab("report", kept)
    assert_match(/<svg|<table/, Lab::Report::Html.render(command.document))
  end

  # Results in the form of a run's file, from generated cells and tables.
  def results_of(command, cells: [], tables: [], protocol: TINY)
    run = { "command" => command, "arguments" => [], "seed" => 1, "protocol" => protocol.to_h,
            "started_at" => "2026-11-20T18:00:00Z" }
    results = { "schema" => "tiercel-lab/1", "run" => run, "environment" => Lab::Engine::Machine.describe,
                "workload" => {}, "cells" => cells.map(&:record), "tables" => tables, "complete" => true }
    JSON.parse(JSON.generate(results))
  end
end
