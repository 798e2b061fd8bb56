# frozen_string_literal: true

require "test_helper"
require "stringio"
require "tmpdir"
require "tiercel/lab"
require_relative "planted"

# What the lab's own tests share.
class LabCase < Tiercel::TestCase
  Lab = Tiercel::Lab
  PLANTED = File.expand_path("planted.rb", __dir__)

  # Long enough to tell 20 % on a loaded machine, short enough for a test.
  SHORT = Lab::Protocol::QUICK.with(processes: 6, blocks: 8, slice_ns: 3_000_000)
  # Where only what happens matters, not the figures.
  TINY = Lab::Protocol::QUICK.with(processes: 2, blocks: 2, slice_ns: 500_000)

  # @return [Hash{String => Cell}] by the arm's name
  def measure(*stores, operation: "read", value: "string-100b", protocol: TINY, seed: 1)
    comparison = compare(*stores, operation:, value:)
    cells = Lab::Measurement.new([comparison], protocol:, seed:, requires: [PLANTED]).run
    cells.to_h { |cell| [cell.arm.name, cell] }
  end

  def compare(*stores, operation: "read", value: "string-100b")
    contestants = stores.map { |text| Lab::Contestants.parse(text) }
    Lab::Comparison.of(value: Lab::Values.fetch(value), operation: Lab::Operations.fetch(operation), contestants:,
                       baseline: contestants.first)
  end

  # A cell with made-up slices of one call: nanoseconds by process and block.
  def cell_of(comparison, arm, blocks)
    Lab::Cell.new(comparison, arm).tap do |cell|
      blocks.each_with_index do |of_process, process|
        of_process.each_with_index do |ns, block|
          cell.slices << Lab::Cell::Slice.new(process, block, 0, 1, ns, 0, ns, 0)
        end
      end
    end
  end

  # Runs a table's command with the shortest protocol there is; its results are valid, and rendered again they are the
  # same.
  #
  # @yieldparam code [Integer] exit code
  # @yieldparam command [TableCommand] with document, results, out, err
  def run_table(table, *arguments, protocol: TINY)
    short = Class.new(table) { define_method(:protocol) { protocol } }
    short.called(table.command_name, table.summary)
    run_command(short, *arguments) do |code, command|
      check_results(table, command) if command.results
      yield code, command
    end
  end

  # Runs a command; what it keeps goes into a folder that is removed.
  #
  # @yieldparam code [Integer] exit code
  # @yieldparam command [TableCommand] with document, results, out, err
  def run_command(table, *arguments)
    Dir.mktmpdir do |folder|
      command = table.new(out: StringIO.new, err: StringIO.new, program: "bin/lab")
      code = command.call([*arguments, "--results", folder])
      yield code, command
    end
  end

  # @param complaints [Hash{Array<String> => Regexp}] by the arguments that make no sense
  # @yieldparam arguments [Array<String>]
  # @yieldparam check [Proc] for the block of {#run_command}
  def assert_refused(complaints)
    complaints.each do |arguments, complaint|
      yield arguments, lambda { |code, command|
        assert_equal 2, code
        assert_match complaint, command.err.string
      }
    end
  end

  def check_results(table, command)
    assert_empty Lab::Results::Schema.fetch("tiercel-lab/1").errors(command.results)
    again = table.document(command.results, command: command.document.command)
    assert_equal Lab::Report::Markdown.render(command.document), Lab::Report::Markdown.render(again)
    assert_match(/<svg|<table/, Lab::Report::Html.render(again))
  end

  # Results as a run's file has them, of made-up cells and tables.
  def results_of(command, cells: [], tables: [], protocol: TINY)
    run = { "command" => command, "arguments" => [], "seed" => 1, "protocol" => protocol.to_h,
            "started_at" => "2026-11-20T18:00:00Z" }
    results = { "schema" => "tiercel-lab/1", "run" => run, "environment" => Lab::Runner::Machine.describe,
                "workload" => {}, "cells" => cells.map { |cell| Lab::Results::CellRecord.of(cell) }, "tables" => tables,
                "complete" => true }
    JSON.parse(JSON.generate(results))
  end
end
