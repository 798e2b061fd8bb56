# frozen_string_literal: true

# Results in the form of a run's file, for tests of reports: cells with generated slices, and tables.
module Canned
  Lab = Tiercel::Lab

  module_function

  # @param cells [Array<Lab::Engine::Cell>]
  # @param tables [Hash{String => Array(Array<Hash>, Hash)}] rows and notes by name
  # @return [Hash{String => Object}]
  def results(command:, cells: [], tables: {}, arguments: ["--quick"], protocol: Lab::Engine::Protocol::QUICK, **more)
    Lab::Engine::Summary.fill(cells, protocol:)
    document = { schema: "tiercel-lab/1", environment: Lab::Engine::Machine.describe.merge("pinning" => "not pinned"),
                 run: { command:, arguments:, seed: 1, protocol: protocol.to_h, started_at: "2026-11-20T18:00:00Z" },
                 workload: {}, servers: [], disturbances: [], complete: true, warnings: [],
                 cells: cells.map(&:record),
                 tables: tables.map { |name, (rows, notes)| { name:, rows:, notes: notes || {} } } }
    JSON.parse(JSON.generate(document.merge(more)))
  end

  # Cells of a comparison. Each arm has a constant time, given by its name, in two processes of two blocks.
  #
  # @param comparison [Lab::Engine::Comparison]
  # @param ns [Hash{String => Integer, String}] a String is the reason why there is no figure
  # @return [Array<Lab::Engine::Cell>]
  def cells(comparison, ns)
    comparison.arms.map do |arm|
      cell = Lab::Engine::Cell.new(comparison, arm)
      time = ns.fetch(arm.contestant.name)
      next cell.tap { cell.note("status" => "cannot run", "reason" => time) } if time.is_a?(String)
      4.times.with_object(cell) do |index, filled|
        filled.slices << Lab::Engine::Cell::Slice.new(index / 2, index % 2, 0, 1, time + index, 0, time + index, 0)
      end
    end
  end
end
