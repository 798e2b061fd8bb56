# frozen_string_literal: true

module Tiercel::Lab
  module Tables
    # The tables of serializers of the first article, and the types that each serializer does not keep.
    module Serializers
      class Table < Tables::Table
        called "serializers", "Speed and size of serializers, and the types they lose."
        example "serializers --quick", "serializers", "serializers --serializer marshal,auto --value rows-50",
                "serializers --data exports"
        takes :quick, :seed, :cells, :data
        in_all 40
        quick blocks: 3, slice_ns: 6_000_000, budget_seconds: 50
        full processes: 4, most_processes: 8, blocks: 6, budget_seconds: 180

        QUICK_VALUES = %w[books rows-50].freeze
        VALUES = %w[books-1mb books rows-50].freeze
        OPERATIONS = %w[dump load dump_load].freeze
        # The approximate time to probe one serializer.
        FIDELITY_SECONDS = 0.5

        def options(parser)
          things parser, "--serializer", Serialization, :serializers, "see `help serializers` (all)"
          value_option(parser, default: VALUES.join(", "))
        end

        def plan
          contestants = parse_all(serializers.map { |library| "serializer:#{library.name}" })
          values = chosen_values(settings.quick ? QUICK_VALUES : VALUES, parse: true)
          comparisons_of(values, OPERATIONS.map { |name| Operations.fetch(name) }, contestants)
        end

        def take(comparisons)
          super
          run.watch(serializers.size * FIDELITY_SECONDS) do |progress|
            rows = serializers.map do |library|
              Serialization::Fidelity.new(library).to_h.tap do
                progress.advance(FIDELITY_SECONDS, "what #{library.name} loses")
              end
            end
            run.table("fidelity", rows)
          end
        end

        private

        # The baseline comes first.
        def serializers
          baseline = Serialization.fetch(Serialization::BASELINE)
          [baseline, *facts_given.fetch(:serializers, Serialization.all)].uniq(&:name)
        end
      end

      # Shows speed, bytes and objects of serializers for each value, and which types they keep.
      class View < Tables::View
        article(/\ASerializers: (?!what comes back)/)
        quick "Quick: 20 books and 50 rows, in fewer blocks; without --quick also a megabyte of books."

        FORMS = { value: "as it was", json: "as JSON says" }.freeze
        WAYS = { "dump" => "dump", "load" => "load", "dump_load" => "both" }.freeze
        # A row has a cell for each of {WAYS}.
        COLUMNS = { "serializer" => ->(ways) { name(ways["dump"]) }, "bytes" => ->(ways) { bytes(ways["dump"]) },
                    **WAYS.values.to_h { |way| [way, ->(ways) { ways[way] && time(ways[way]) }] },
                    "both, ratio" => ->(ways) { ways["both"] && ratio(ways["both"]) },
                    "objects, dump" => ->(ways) { objects(ways["dump"]) },
                    "objects, load" => ->(ways) { objects(ways["load"]) },
                    "comes back" => ->(ways) { FORMS.fetch(form(ways["dump"])) } }.freeze
        SHORT = { /\Akept\z/ => "yes", /\Acomes back as / => "", /\Arefused: .*/ => "refused",
                  /\Acannot be loaded.*/ => "not loaded", /\Anot installed.*/ => "n/a" }.freeze

        def title = "Serializers: speed, size, and what is lost"

        def sentence
          value, both = first_measured
          return "Nothing could be measured." unless value
          whole = both.select { |cell| form(cell) == :value }
          all, keeping = [both, whole].map { |cells| leader(cells) }
          text = "#{title_of(value)}: #{all.to_s("the fastest there and back") { |cell| described(cell) }}"
          return "#{text}." if whole.empty? || keeping.ahead == all.ahead
          "#{text}; of those that keep everything #{keeping.to_s { |cell| described(cell) }}."
        end

        def fill(document)
          by_value.each { |value, of_value| add(document, value, of_value) }
          add_fidelity(document) if rows("fidelity").any?
        end

        private

        def by_value = @by_value ||= cells.group_by { |cell| cell["value"] }

        def first_measured
          by_value.transform_values { |cells| of(cells, "dump_load").select { |cell| measured?(cell) } }
                  .find { |_name, found| found.any? }
        end

        def described(cell)
          "#{name(cell)} (#{spent(cell)}#{", but what comes back is only what JSON says" if form(cell) == :json})"
        end

        def anchor(value) = "Serializers: #{title_of(value)}"

        def add(document, value, of_value)
          document.section(title_of(value)) do |section|
            section.add(table(value, of_value))
            section.add(article(of_value)) if value.start_with?("books")
          end
        end

        # Each serializer has a row with three cells: dump, load, and both.
        def table(value, of_value)
          note = "Microseconds a call; bytes of one value (the median). `as JSON says`: records come back as " \
                 "Hashes of their attributes, without what is associated."
          ways = of(of_value, "dump").map { |dump| ways_of(of_value, dump) }
          columns_table(anchor(value), ways, COLUMNS, labels: 1, note:, command: command_for(value),
                                                      floor: floor(of_value))
        end

        # A row of three cells shows figures only if all three cells have figures.
        def failure(ways) = ways.values.compact.find { |cell| !measured?(cell) }&.then { |cell| missing(cell) }

        def ways_of(of_value, dump)
          WAYS.to_h { |operation, way| [way, of(of_value, operation).find { |cell| name(cell) == name(dump) }] }
        end

        # The figures are of another machine, so the table compares ratios too.
        def article(of_value)
          all = Published.of("serializers")
          rows = all.filter_map do |name, figures|
            ours = %w[dump_load dump].map { |way| of(of_value, way).find { |cell| name(cell) == name } }
            next if ours.any?(&:nil?)
            columns = figures.zip(ours, all["marshal"]).flat_map do |published, cell, marshal|
              [published, rate(cell), figure(marshal / published, "x"), measured?(cell) ? ratio(cell) : ""]
            end
            [name, *columns]
          end
          title = "Serializers: the article's figures beside ours, #{title_of(of_value.first["value"])}"
          header = %w[both dump].flat_map do |way|
            ["article: #{way} a second", "here: #{way} a second", "article: #{way}, by Marshal's time", "here: #{way}"]
          end
          Report::Table.new(title, rows:, header: ["serializer", *header],
                            note: "Published in October 2024, on another machine, on its own 1 MB of books. Its " \
                                  "JSON is `json` here, its AS::JSON `as_json`.")
        end

        def add_fidelity(document)
          document.section("What is lost") do |section|
            section.text("Each serializer dumped and loaded each object. `yes`: the loaded object is the same. A " \
                         "class: an object of this class came back. `refused`: dumping raised an error. Other " \
                         "words name the difference.")
            section.add(fidelity)
          end
        end

        def fidelity
          fates = rows("fidelity").to_h { |row| [row["serializer"], ->(specimen) { fate(row[specimen]) }] }
          columns_table("Serializers: what comes back", rows("fidelity").first.keys - ["serializer"],
                        { "" => :itself, **fates }, command: command_for(nil))
        end

        def fate(words)
          return Report::Cell.mark(:yes) if words == "kept"
          pattern, short = SHORT.find { |candidate, _| words.match?(candidate) }
          Report::Cell.text(pattern ? words.sub(pattern, short) : words,
                            muted: words.start_with?("refused", "not installed"))
        end

        def of(cells, operation) = cells.select { |cell| cell["operation"] == operation }

        def form(cell) = Serialization.known?(name(cell)) ? Serialization.fetch(name(cell)).form : :value
      end
    end
  end
end
