# frozen_string_literal: true

module Tiercel::Lab
  module Tables
    # The tables of compressors of the first article: bytes, and the speed of compressing and decompressing.
    module Compressors
      ARTICLE_VALUE = "books-dump-1mb"

      class Table < Tables::Table
        called "compressors", "Compressed bytes, and the speed in both directions."
        example "compressors --quick", "compressors", "compressors --data storage/fragments",
                "compressors --compressor zstd#level=1,zstd#level=9 --value html-10kb"
        takes :quick, :seed, :cells, :data
        in_all 30
        # There are hundreds of cells with large differences, so few and short blocks are enough.
        quick blocks: 3, slice_ns: 6_000_000, budget_seconds: 60
        full processes: 4, most_processes: 8, blocks: 3, slice_ns: 8_000_000, budget_seconds: 420

        # A quick run measures one size of each content, at the default levels.
        QUICK_VALUES = [ARTICLE_VALUE, "html-10kb", "json-1kb", "noise-10kb"].freeze
        SIZES = %w[100b 1kb 10kb 100kb 1mb].freeze
        # Noise has one size, because no size of it can be compressed.
        VALUES = [ARTICLE_VALUE, *%w[html json].product(SIZES).map { |pair| pair.join("-") }, "noise-10kb"].freeze
        # These levels take seconds for a megabyte, so only payloads up to SLOW_MOST_BYTES use them.
        SLOW_LEVELS = { "brotli" => 10, "zstd" => 19 }.freeze
        SLOW_MOST_BYTES = 16 * 1024

        def options(parser)
          parser.on("--compressor A,B", Array,
                    "see `help compressors`; zstd#level=3 (all with their levels; quick: " \
                                               "default levels)") do |names|
            (@compressors ||= []).concat(names.map { |name| contestant(name) })
          end
          value_option(parser, default: "#{ARTICLE_VALUE}, noise-10kb, and html, json from 100b to 1mb")
        end

        def plan
          chosen_values(settings.quick ? QUICK_VALUES : VALUES).flat_map do |value|
            contestants = compressors.reject { |compressor| too_slow?(compressor, value) }
            %w[deflate inflate].map do |operation|
              Engine::Comparison.of(value:, operation: Operations.fetch(operation), contestants:)
            end
          end
        end

        private

        def contestant(text) = Contestants.parse("compressor:#{text}")

        # The baseline comes first and is the same for every value.
        def compressors
          @chosen ||= [contestant(Compression::BASELINE), *(@compressors || every)].uniq(&:name)
        end

        def every
          Compression.all.flat_map do |library|
            levels = settings.quick ? [] : library.levels - [library.default]
            [contestant(library.name), *levels.map { |level| contestant("#{library.name}#level=#{level}") }]
          end
        end

        # Levels that the user names are measured on every value.
        def too_slow?(compressor, value)
          level = compressor.options[:level] or return false
          slow = SLOW_LEVELS[compressor.place] or return false
          @compressors.nil? && level >= slow && value.approximate_bytes > SLOW_MOST_BYTES
        end
      end

      # Shows bytes and speed of compressors: a table for each payload.
      class View < Tables::View
        article(/\ACompressors: /)
        quick "Quick: each library's default level, few contents and few sizes."

        COLUMNS = [["compressor", :name], ["bytes", :bytes], ["of the payload", :share], ["deflate", :time],
                   ["MB/s", :speed], ["inflate", ->(cell) { twin(cell)&.then { |inflate| time(inflate) } }],
                   ["MB/s", ->(cell) { twin(cell)&.then { |inflate| speed(inflate) } }], ["objects", :objects]].freeze

        def title = "Compressors: bytes and speed, both ways"

        def sentence
          value, best = first_compressed
          return "Nothing could be measured." unless value
          smallest = best.min_by { |cell| bytes(cell) }
          ways = leaders(best).map do |way, leader|
            leader.to_s("the fastest to #{way}") { |cell| figures_of(cell) }
          end
          "#{title_of(value)}: #{name(smallest)} is the smallest (#{share(smallest)}, #{spent(smallest)}); " \
            "#{ways.join("; ")}."
        end

        def fill(document)
          by_value.each { |value, deflates| add(document, value, deflates) }
        end

        private

        def by_value = @by_value ||= cells(operation: "deflate").group_by { |cell| cell["value"] }

        def first_compressed
          value, deflates = by_value.find { |_value, cells| cells.any? { |cell| compresses?(cell) } }
          [value, deflates.to_a.select { |cell| compresses?(cell) }]
        end

        def leaders(deflates)
          inflates = deflates.filter_map { |cell| twin(cell) }.select { |cell| measured?(cell) }
          { "deflate" => deflates, "inflate" => inflates }.reject { |_way, cells| cells.empty? }
                                                          .transform_values { |cells| leader(cells) }
        end

        def figures_of(cell) = "#{name(cell)} (#{[share(cell), spent(cell)].reject(&:empty?).join(", ")})"

        def compresses?(cell)
          measured?(cell) && name(cell) != "none" && bytes(cell) && bytes(cell) < payload(cell["value"]).to_i
        end

        def anchor(value) = "Compressors: #{title_of(value)}"

        def add(document, value, deflates)
          document.section(title_of(value)) do |section|
            section.add(table(value, deflates))
            section.add(article(deflates)) if value == ARTICLE_VALUE
          end
        end

        # Each compressor has a row with two cells: deflate and inflate.
        def table(value, deflates)
          cell_table(anchor(value), deflates, COLUMNS, command: command_for(value), note: note(value))
        end

        def note(value)
          bytes = payload(value) or return
          "Payloads of #{Report::Format.number(bytes)} bytes (the median). Microseconds a call; MB/s of the payload."
        end

        def speed(cell)
          return "" unless measured?(cell) && name(cell) != "none" && payload(cell["value"])
          Report::Cell.number(payload(cell["value"]) / microseconds(cell), digits: 0)
        end

        def article(deflates)
          published = Published.of("compressors")
          rows = published.filter_map do |name, (size, per_second)|
            cell = deflates.find { |candidate| name(candidate) == name } or next
            [name, size, bytes(cell), percent(size, published["none"].first),
             measured?(cell) ? share(cell) : missing(cell), per_second, per_second && rate(cell),
             per_second && figure(published["zlib"].last / per_second, "x"), ratio(cell)]
          end
          Report::Table.new("Compressors: the article's figures beside ours", rows:,
                            header: ["compressor", "article: bytes", "here: bytes", "article: share", "here: share",
                                     "article: a second", "here: a second", "article: by gzip's time",
                                     "here: by gzip's time"],
                            note: "Published in October 2024, on another machine and other random strings, " \
                                  "deflating only; levels were not named.")
        end

        # @return [Hash, nil] the cell that inflates what the given cell has deflated: same compressor, value and role
        def twin(deflate)
          results["cells"].find do |cell|
            cell["operation"] == "inflate" && cell["value"] == deflate["value"] && cell["role"] == deflate["role"] &&
              name(cell) == name(deflate)
          end
        end

        # The compressor "none" stores the payload unchanged.
        def payload(value)
          cell = by_value.fetch(value).find { |candidate| name(candidate) == "none" }
          (cell && bytes(cell)) || (Values.fetch(value).approximate_bytes if Values.known?(value))
        end

        def share(cell) = percent(bytes(cell), payload(cell["value"]))

        def percent(part, whole) = part && whole ? format("%.1f %%", 100.0 * part / whole) : ""
      end
    end
  end
end
