# frozen_string_literal: true

require_relative "figures"
require_relative "table"
require_relative "whiskers"

module Tiercel
  module Lab
    module Terminal
      # All cells of one value: a section for each operation, a row for each contestant.
      class ValueTable
        COLUMNS = [["", :left], ["median us", :right], ["interval", :left], ["+ GC", :right], ["ratio", :left],
                   ["", :left], ["verdict", :left], ["objects", :right], ["bytes", :right]].freeze
        COLOURS = { faster: :green, slower: :red, cannot_tell: :grey }.freeze
        VERDICTS = { faster: "faster", slower: "slower", same: "same", cannot_tell: "cannot tell" }.freeze
        MEDIA = { process: "in-process", loopback: "loopback", disk: "disk", remote: "remote" }.freeze

        # @param value [Value]
        # @param cells [Array<Cell>] of the value
        def initialize(value, cells)
          @value = value
          @cells = cells
        end

        # @param style [Style]
        # @return [String]
        def to_s(style = Style.new(nil))
          table = Table.new(COLUMNS)
          @cells.group_by(&:comparison).each_value { |cells| add(table, cells) }
          "#{style.paint(@value.title, :bold)} (noise floor: #{floors})\n#{table.to_s(style)}"
        end

        # How far the same code came from itself, the worst of the value's cells for each medium.
        #
        # @return [String]
        def floors
          nulls = @cells.select { |cell| cell.arm.role == :null && cell.summary&.ratio }
          return "not measured" if nulls.empty?
          nulls.group_by { |cell| cell.arm.contestant.medium }.map { |medium, cells|
            "#{MEDIA.fetch(medium)} #{Figures.percent(cells.map { |cell| own_floor(cell) }.max)}"
          }.join(", ")
        end

        private

        def own_floor(cell) = Math.exp(cell.summary.ratio.map { |ratio| Math.log(ratio) }.reach) - 1

        def add(table, cells)
          rows = cells.select { |cell| cell.arm.row? }
          return if rows.all? { |cell| cell.status == "unsuitable" }
          operations = rows.map { |cell| cell.arm.operation.name }.uniq
          table.section(operations.join(" / "))
          whiskers = Whiskers.new(rows.filter_map { |cell| cell.summary&.ratio if compared?(cell) }, mark: 1.0)
          rows.each { |cell| row(table, cell, whiskers, named: operations.size > 1) }
        end

        def compared?(cell) = cell.measured? && cell.arm.role != :baseline

        def row(table, cell, whiskers, named:)
          name = "  #{cell.arm.name}#{" #{cell.arm.operation.name}" if named}"
          return table.note(name, words(cell)) unless cell.measured? && cell.summary
          summary = cell.summary
          table.row([name, Figures.us(summary.ns.estimate), Figures.us_bounds(summary.ns), Figures.us(summary.gc_ns),
                     ratio(cell), whiskers.draw(compared?(cell) ? summary.ratio : nil), verdict(cell),
                     Figures.count(cell.allocations), Figures.bytes(cell.stored_bytes)],
                    colour: COLOURS[summary.verdict])
        end

        def words(cell) = [cell.status == "measured" ? "not measured" : cell.status, cell.reason].compact.join(": ")

        def ratio(cell)
          return "1 (baseline)" if cell.arm.role == :baseline
          cell.summary.ratio ? Figures.ratio(cell.summary.ratio) : "no baseline"
        end

        def verdict(cell)
          flags = cell.summary.flags & %w[saturated incomplete]
          [VERDICTS[cell.summary.verdict], ("(#{flags.join(", ")})" if flags.any?)].compact.join(" ")
        end
      end
    end
  end
end
