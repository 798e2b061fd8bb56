# frozen_string_literal: true

require_relative "../engine"
require_relative "../report"
require_relative "../statistics"

module Tiercel
  module Lab
    module Tables
      # Tables and charts that a {View} declares. A column of a table is one of
      #
      # - a String: a fact of the row,
      # - a Symbol: a method of the row, or a method of the view that takes the row,
      # - a Proc that takes the row; it runs in the view,
      # - an Array of one of these and a unit, for numbers and intervals.
      module Columns
        # A table with a column for each header. A row without figures shows its labels and then the reason.
        #
        # @param rows [Array<Hash, Object>]
        # @param columns [Hash{String => Object}, Array<Array(String, Object)>] see {Columns}
        # @param labels [Integer, nil] leading columns of a row without figures; nil: every row has figures
        # @param always [Array<String>] headers of other columns that a row without figures fills
        # @param reason [#call] takes a row and returns why it has no figures, or nil
        # @param raw [#call, nil] takes a row with figures and returns its raw figures by label
        # @param unit [String] unit of the raw figures
        # @param options [Hash] see {Report::Table#initialize}
        # @return [Report::Table]
        def columns_table(title, rows, columns, labels: nil, always: [], reason: method(:failure), raw: nil, unit: "us",
                          **options)
          table = Report::Table.new(title, header: columns.map(&:first), **{ command:, **options })
          rows.each do |row|
            failed = reason.call(row) if labels
            table.row(*columns.each_with_index.map do |(header, column), index|
              next failed if failed && index == labels
              failed && index > labels && !always.include?(header) ? "" : filled(column, row)
            end)
            raw.call(row).each { |label, figures| table.raw(label, figures, unit:) } if raw && !failed
          end
          table
        end

        # Builds such a table for cells, with their noise floor and the figures of every block.
        #
        # @param cells [Array<Hash>]
        # @param label [#call] names the blocks of a cell
        # @return [Report::Table]
        def cell_table(title, cells, columns, labels: 1, label: method(:name), **options)
          columns_table(title, cells, columns, labels:, reason: ->(cell) { missing(cell) unless measured?(cell) },
                                               floor: floor(cells),
                                               raw: ->(cell) { { label.call(cell) => block_us(cell) } }, **options)
        end

        # @param value [Object]
        # @param unit [String, nil]
        # @return [Object] a cell for a number or an interval; any other value as it is
        def figure(value, unit = nil, **options)
          case value
          when Numeric then Report::Cell.number(value, unit:, **options)
          when Statistics::Interval then Report::Cell.interval(value, unit:, **options)
          else value
          end
        end

        # @param row [Hash, #failed]
        # @return [Report::Cell, nil] why a row has no figures
        def failure(row)
          failed = row.is_a?(Hash) ? (row unless Engine::Outcome.measured?(row)) : row.failed
          missing(failed) if failed
        end

        # @param values [Array<Numeric>]
        # @return [Statistics::Interval, Numeric, nil] the median with the least and the most; a single value itself
        def spread(values)
          return values.first if values.size < 2
          Statistics::Interval.new(Statistics.median(values.map(&:to_f)), *values.minmax)
        end

        # @param values [Array<Numeric>] one of each process
        # @return [Statistics::Interval] interval of the processes' median
        def median_of_processes(values) = Statistics::MedianInterval.of_times(values.map { |value| [value] })

        # @param series [Hash{String => Array}] points by the name of their line
        # @param options [Hash] see {Report::Charts::LineChart#initialize}
        # @return [Report::Charts::LineChart]
        def line_chart(title, series, **options)
          Report::Charts::LineChart.new(title, **{ command:, **options }).tap do |chart|
            series.each { |name, points| chart.series(name, points) }
          end
        end

        def several(...) = Report::Format.several(...)

        private

        def filled(column, row)
          case column
          when Array then figure(filled(column.first, row), column.last)
          when String then row[column]
          when Symbol then row.is_a?(Hash) || !row.respond_to?(column) ? send(column, row) : row.public_send(column)
          else instance_exec(row, &column)
          end
        end
      end
    end
  end
end
