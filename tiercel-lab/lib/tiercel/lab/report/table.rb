# frozen_string_literal: true

require_relative "cell"

module Tiercel
  module Lab
    module Report
      # Rows of {Cell}s under a header, for every renderer.
      #
      #   table = Table.new("Reads", header: ["store", "us"], command: "bin/lab compare memory: shared:")
      #   table.row("shared:", Cell.interval(interval, unit: "us"))
      class Table
        # A group of raw figures behind a table's cells.
        #
        # @!attribute label [String]
        # @!attribute values [Array<Numeric>]
        # @!attribute unit [String, nil]
        Blocks = Struct.new(:label, :values, :unit)

        # @return [String]
        attr_reader :title
        # @return [String] unique within a document
        attr_reader :anchor
        # @return [Array<String>]
        attr_reader :header
        # @return [Array<Array<Cell>>]
        attr_reader :rows
        # @return [String, nil] the command that makes this table again
        attr_accessor :command
        # @return [String, nil] a sentence under the title
        attr_reader :note
        # @return [String, nil] the noise floor of the table's figures
        attr_accessor :floor
        # @return [Array<Blocks>] the raw figures
        attr_reader :blocks

        # @param title [String]
        # @param header [Array<String>] one for each column
        # @param rows [Array<Array>] see {Cell.from}
        # @param anchor [String, nil] nil: computed from the title
        # @param command [String, nil]
        # @param note [String, nil]
        # @param floor [String, nil]
        def initialize(title, header:, rows: [], anchor: nil, command: nil, note: nil, floor: nil)
          @title = title
          @header = header.map(&:to_s)
          @anchor = anchor || Report.slug(title)
          @command = command
          @note = note
          @floor = floor
          @rows = []
          @blocks = []
          rows.each { |cells| row(*cells) }
        end

        # @param cells [Array] one for each column, see {Cell.from}
        # @return [self]
        # @raise [ArgumentError] for another number of cells than columns
        def row(*cells)
          unless cells.size == header.size
            raise ArgumentError, "table #{title.inspect}: expected #{header.size} cells (#{header.join(", ")}), " \
                                 "got #{cells.size}"
          end
          @rows << cells.map { |cell| Cell.from(cell) }
          self
        end

        # @param label [String] name of the group
        # @param values [Array<Numeric>]
        # @param unit [String, nil]
        # @return [self]
        def raw(label, values, unit: nil)
          @blocks << Blocks.new(label, values, unit)
          self
        end

        # @return [Array<String>] the cells' notes in reading order, without duplicates; notes of missing cells are not
        #   among them
        def footnotes = rows.flatten.reject { |cell| cell.kind == :missing }.filter_map(&:note).uniq

        # @param cell [Cell]
        # @return [Integer, nil] its number in {#footnotes}, from 1
        def footnote(cell)
          return if cell.note.nil? || cell.kind == :missing
          (@numbers ||= {})[cell.note] ||= footnotes.index(cell.note) + 1
        end

        # @param column [Integer]
        # @return [Boolean] whether its cells are aligned to the right
        def numeric?(column)
          cells = rows.filter_map { |row| row[column] unless row[column].kind == :missing || row[column].to_s.empty? }
          cells.any? && cells.all?(&:numeric?)
        end
      end
    end
  end
end
