# frozen_string_literal: true

require_relative "table"

module Tiercel
  module Lab
    module Documents
      # What a hit costs by the size of the value.
      class Sizes < Table
        HEADER = ["store", "a hit", "ratio", "verdict", "bytes kept", "article, 2011"].freeze
        SHIPPED = "mem_cache_store_as_shipped"
        REFUSED = /refused|too large|over max|MaxSize/i

        # Source: Steph Skardal, "Raw Caching Performance in Ruby/Rails", 12 July 2011: ms a hit; Rails 2.3.
        ARTICLE = { "html-2kb" => { "mem_cache_store" => 0.52, "file_store:tmpfs" => 0.20, "file_store:disk" => 0.17 },
                    "html-822kb" => { "mem_cache_store" => 0.22, "file_store:tmpfs" => 16.85,
                                      "file_store:disk" => 16.39 } }.freeze
        # On a file server over gigabit Ethernet: beside a folder of the user's.
        ARTICLE_NFS = { "html-2kb" => 0.22, "html-822kb" => 15.91 }.freeze
        DOUBTFUL = "Faster than its own figure for 2 KB: almost surely misses, which cost no transfer."

        # @param cell [Hash] of the results
        # @return [Boolean] whether it is memcached as it is shipped, which takes no item over 1 MB
        def self.refused?(cell)
          cell.dig("contestant", "text").start_with?(SHIPPED) && cell["status"] != "measured" &&
            cell["reason"].to_s.match?(REFUSED)
        end

        def title = "What a hit costs by size"

        def fill(document)
          document.verdict(sentence, floor: worst_floor, warnings: warnings + quick_words)
          groups.each { |value, group| document.section(title_of(value)) { |section| add(section, value, group) } }
          if by_size.values.any? { |points| points.size > 1 }
            document.section("By size") { |section| add_crossovers(section) }
          end
        end

        private

        def groups = @groups ||= cells.group_by { |cell| cell["value"] }

        def title_of(value) = rows("sizes").find { |row| row["name"] == value }&.fetch("title") || value

        def sentence
          parts = groups.filter_map do |value, group|
            measured = group.select { |cell| measured?(cell) }
            next if measured.empty?
            least = leader(measured)
            dearest = measured.max_by { |cell| median(cell) }
            "#{title_of(value)}: from #{words(least.first)} (#{least.words { |cell| name(cell) }}) to " \
              "#{words(dearest)} (#{name(dearest)})"
          end
          parts.empty? ? "Nothing could be measured." : "A hit costs, #{parts.join("; ")}.#{misses}"
        end

        def misses
          missing = cells.reject { |cell| measured?(cell) }.select { |cell| miss?(cell) }
          if missing.empty?
            ""
          else
            " #{missing.size} #{missing.one? ? "cell misses and has" : "cells miss and have"} no time."
          end
        end

        def miss?(cell) = cell["status"] == "misses" || Sizes.refused?(cell)

        def quick_words
          quick? ? ["Quick: the article's sizes and one above memcached's limit, fewer stores."] : []
        end

        def median(cell) = cell["summary"]["ns"]["estimate"]

        def words(cell) = Report::Format.duration(median(cell) / 1e9)

        def add(section, value, group)
          table = Report::Table.new("Sizes: #{value}", header: HEADER, command:, note: table_note(group))
          group.each do |cell|
            table.row(*figures(value, cell))
            table.raw(name(cell), block_us(cell), unit: "us") if cell["summary"]
          end
          section.add(table).add(bars(value, group))
        end

        def table_note(group)
          "A fetch that finds its value. Ratios are of the time to that of `#{name(group.first)}`."
        end

        def figures(value, cell)
          return [name(cell), why(cell), *[""] * (HEADER.size - 3), article(value, cell)] unless measured?(cell)
          [name(cell), time(cell), ratio(cell), verdict(cell), cell.dig("exact", "stored_bytes"), article(value, cell)]
        end

        # A miss is called one, whatever the client made of it.
        def why(cell)
          return missing(cell) unless Sizes.refused?(cell)
          limit = "memcached takes items of up to 1 MB unless it is told otherwise"
          Report::Cell.missing("misses: #{cell["reason"]}; #{limit}", remedy: "memcached -I 8m")
        end

        def article(value, cell)
          text = cell.dig("contestant", "text")
          own = text.start_with?("file_store:/") || text.include?("=file_store:/")
          ms = own ? ARTICLE_NFS[value] : ARTICLE.dig(value, text)
          return "" unless ms
          note = if own then "Published for a NetApp filer over gigabit Ethernet."
                 elsif value == "html-822kb" && text == "mem_cache_store" then DOUBTFUL
                 end
          Report::Cell.number(ms, unit: "ms", note:)
        end

        def bars(value, group)
          chart = Report::Charts::BarChart.new("Sizes: #{value}, time of a hit", unit: "us", scale: :log)
          group.each do |cell|
            next chart.missing(name(cell), miss?(cell) ? "misses" : cell["status"]) unless measured?(cell)
            chart.row(name(cell), interval(cell["summary"]["ns"], 1e-3),
                      muted: cell.dig("summary", "verdict") == "cannot_tell")
          end
          chart
        end

        # Figures of HTML alone, which differs in nothing but its size.
        #
        # @return [Hash{String => Array}] points by store: bytes, us, bounds
        def by_size
          @by_size ||= begin
            bytes = rows("sizes").select { |row| row["html"] }.to_h { |row| row.values_at("name", "bytes") }
            measured = cells.select { |cell| measured?(cell) && bytes.key?(cell["value"]) }
            measured.group_by { |cell| name(cell) }.transform_values do |of_store|
              of_store.map do |cell|
                [bytes[cell["value"]],
                 *cell["summary"]["ns"].values_at("estimate", "low", "high").map { |ns| ns / 1e3 }]
              end
            end
          end
        end

        def add_crossovers(section)
          chart = Report::Charts::LineChart.new("Sizes: a hit by size", x: "bytes", y: "us", x_scale: :log,
                                                y_scale: :log, command:)
          by_size.each { |store, points| chart.series(store, points) }
          section.text("HTML of several sizes. Where two lines cross, one store becomes the cheaper one; between " \
                       "measured sizes the place is interpolated, so it is computed.")
          section.add(chart)
          crossings, unclear = crossings(chart).partition { |first, second, at| clear?(first, second, at) }
          if unclear.any?
            section.text("#{unclear.size} more #{unclear.one? ? "is" : "are"} within the intervals: cannot tell.")
          end
          return section.text("No two stores clearly cross within these sizes.") if crossings.empty?
          section.table("Sizes: where stores cross (computed)",
                        header: ["below it cheaper", "above it cheaper", "bytes"], command:) do |table|
            crossings.each { |first, second, at| table.row(first, second, Report::Cell.number(at.round, digits: 0)) }
          end
        end

        def crossings(chart)
          by_size.keys.combination(2).flat_map do |one, other|
            chart.crossings(one, other).map { |at| [*cheaper_first(one, other, at), at] }
          end.sort_by(&:last)
        end

        def cheaper_first(one, other, at)
          before, = around(one, other, at)
          before.first[1] <= before.last[1] ? [one, other] : [other, one]
        end

        # The points of both stores at the measured sizes below and above a place.
        def around(one, other, at)
          shared = by_size[one].map(&:first) & by_size[other].map(&:first)
          below, above = shared.select { |bytes| bytes <= at }.max, shared.select { |bytes| bytes > at }.min
          [below, above || below].map { |bytes| [one, other].map { |store| by_size[store].assoc(bytes) } }
        end

        # The intervals of the two lie apart on both sides.
        def clear?(one, other, at)
          around(one, other, at).all? do |(_, _, low, high), (_, _, other_low, other_high)|
            high < other_low || other_high < low
          end
        end
      end
    end
  end
end
