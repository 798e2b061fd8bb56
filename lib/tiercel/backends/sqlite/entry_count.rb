# frozen_string_literal: true

require_relative "schema"

module Tiercel
  module Backends
    class SQLite < Backend
      # How many entries the file has. Counting reads every page, so a large file is estimated: ids are digests,
      # evenly spread over their range, so the mean gap between neighbours tells how many there are.
      module EntryCount
        # Above so many pages entries are not counted but estimated.
        COUNTED_PAGES = 20_000
        # Where the range is looked at, and rows of one look.
        SAMPLES = 8
        SAMPLE_ROWS = 64

        module_function

        # @param connection [Connection]
        # @return [Integer]
        def of(connection)
          return connection.number(:count) if connection.number(:page_count) <= COUNTED_PAGES
          samples = Array.new(SAMPLES) { connection.rows(:keys, rand(Schema::IDS), SAMPLE_ROWS) }
          samples.select! { |rows| rows.size > 1 }
          return 0 if samples.empty?
          gap = samples.sum { |rows| (rows.last.first - rows.first.first).fdiv(rows.size - 1) } / samples.size
          (Schema::IDS.size / gap).round
        end
      end
    end
  end
end
