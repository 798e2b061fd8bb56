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
end
