# frozen_string_literal: true

module Tiercel::Lab
  module Tables
    # The tables of the third article: the cost of a hit by the size of the value.
    module Sizes
      class Table < Tables::Table
        called "sizes", "The cost of a hit by the size of the value."
        example "sizes --quick", "sizes --dir /mnt/nfs/cache", "sizes --size 300KB,2MB --store file_store:disk"
        takes :quick, :seed, :cells, :data, :url
        in_all 70, weight: 2 # for the reason in client.rb
        quick blocks: 3
        full processes: 4, most_processes: 8, blocks: 6, budget_seconds: 210

        STORES = %w[mem_cache_store mem_cache_store#compress=false mem_cache_store_as_shipped#compress=false
                    redis_cache_store file_store:tmpfs file_store:disk tiercel:file: tiercel:sqlite: tiercel:shared:
                    memory_store].freeze
        QUICK_STORES = STORES - %w[mem_cache_store#compress=false tiercel:file:]
        VALUES = %w[html-100b html-2kb html-10kb html-100kb html-822kb html-1mb pair].freeze
        # The article's two sizes and its records, and a value above memcached's item limit.
        QUICK_VALUES = %w[html-2kb pair html-822kb html-1mb].freeze

        def options(parser)
          parser.on("--size A,B", Array, "sizes of HTML, such as 2KB,822KB,3MB") do |texts|
            (@values ||= []).concat(texts.map { |text| sized(text) })
          end
          value_option(parser)
          parser.on("--dir DIR", "repeatable: FileStore in your folder, such as an NFS mount") do |path|
            (@directories ||= []) << Folder.check("--dir #{path}", path)
          end
          store_option(parser, default: "ten, see `lab sizes --plan`")
        end

        def plan
          values = chosen_values(settings.quick ? QUICK_VALUES : VALUES)
          comparisons_of(values, [Operations.fetch("fetch")], contestants)
        end

        def take(comparisons)
          super
          run.table("sizes", comparisons.map { |comparison| comparison.value.describe }, directories: @directories.to_a)
        end

        private

        # A memcached with default options refuses large items. This is a finding, not a fault.
        def fault?(row) = super && !View.refused?(row)

        # A known size keeps its name, so that runs can be compared.
        def sized(text)
          value = Values::SizedHTML.parse(text)
          Values.known?(value.name) ? Values.fetch(value.name) : value
        end

        def contestants
          stores = @stores || parse_all(settings.quick ? QUICK_STORES : STORES)
          [*stores, *parse_all(@directories.to_a.map { |path| "file_store:#{path}" }), *settings.urls].uniq(&:name)
        end
      end

      # Shows the cost of a hit by the size of the value.
      class View < Tables::View
        article(/html-2kb\z|html-822kb\z|pair\z/)

        quick "Quick: the article's sizes and one above memcached's limit, fewer stores."

        SHIPPED = "mem_cache_store_as_shipped"
        REFUSED = /refused|too large|over max|MaxSize/i
        NFS = "Published for a NetApp filer over gigabit Ethernet."
        NO_NFS = "not measured: it needs a mount"
        DOUBTFUL = "Faster than its own figure for 2 KB: almost surely misses, which cost no transfer."

        # @param cell [Hash]
        # @return [Boolean] whether memcached with its default options refused the value as too large
        def self.refused?(cell)
          cell.dig("contestant", "text").to_s.start_with?(SHIPPED) && !Engine::Outcome.measured?(cell) &&
            cell["reason"].to_s.match?(REFUSED)
        end

        def title = "What a hit costs by size"

        def sentence
          parts = groups.filter_map do |value, group|
            leader = leader(group)
            "#{title_of(value)}: #{leader.span { |cell| "#{words(cell)} (#{name(cell)})" }}" if leader.first
          end
          parts.empty? ? "Nothing could be measured." : "Cost of a hit. #{parts.join("; ")}.#{misses}"
        end

        def fill(document)
          groups.each { |value, group| document.section(title_of(value)) { |section| add(section, value, group) } }
          chart = size_chart("Sizes: a hit by size", cells, &method(:name)) or return
          document.section("By size") { |section| section.add(chart) }
        end

        private

        def groups = @groups ||= cells.group_by { |cell| cell["value"] }

        def title_of(value) = rows("sizes").find { |row| row["name"] == value }&.fetch("title") || super

        def misses
          missing = cells.reject { |cell| measured?(cell) }.select { |cell| miss?(cell) }
          return "" if missing.empty?
          " #{missing.size} #{missing.one? ? "cell misses and has" : "cells miss and have"} no time."
        end

        def miss?(cell) = cell["status"] == Engine::Outcome::MISSES || View.refused?(cell)

        def words(cell) = Report::Format.duration(microseconds(cell) / 1e6)

        def add(section, value, group)
          note = "A fetch that finds its value. Ratios are of the time to that of `#{name(group.first)}`."
          columns = { "store" => :name, "a hit" => :time, "ratio" => :ratio, "verdict" => :verdict,
                      "bytes kept" => :bytes, "article, 2011" => ->(cell) { article(value, cell) } }
          table = cell_table("Sizes: #{value}", group, columns, note:, always: ["article, 2011"])
          nfs_row(table, value) if published(value)["nfs"] && notes("sizes").key?("directories")
          section.add(table)
        end

        # Shows a refused item as a miss, whichever error the client raises.
        def missing(cell)
          return super unless View.refused?(cell)
          limit = "memcached accepts items of up to 1 MB by default"
          Report::Cell.missing("misses: #{cell["reason"]}; #{limit}", remedy: "memcached -I 8m")
        end

        # The row of the article's file server, for runs without --dir.
        def nfs_row(table, value)
          return if notes("sizes")["directories"].any?
          table.row("file_store:DIR (NFS)", Report::Cell.missing(NO_NFS, remedy: "bin/lab sizes --dir /mnt/nfs"), "",
                    "", "", Report::Cell.number(published(value)["nfs"], unit: "ms", note: NFS))
        end

        def published(value) = Published.of("sizes").fetch(value, {})

        def article(value, cell)
          text = cell.dig("contestant", "text")
          own = text.start_with?("file_store:/") || text.include?("=file_store:/")
          ms = published(value)[own ? "nfs" : text]
          return "" unless ms
          note = own ? NFS : (DOUBTFUL if value == "html-822kb" && text == "mem_cache_store")
          Report::Cell.number(ms, unit: "ms", note:)
        end
      end
    end
  end
end
