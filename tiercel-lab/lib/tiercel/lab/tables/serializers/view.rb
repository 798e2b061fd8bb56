# frozen_string_literal: true

require_relative "../view"
require_relative "../../serialization"

module Tiercel
  module Lab
    module Tables
      module Serializers
        # Speed, bytes and objects of serializers on each value, and what becomes of things of every kind.
        class View < Tables::View
          article(/\ASerializers: (?!what comes back)/)

          FORMS = { value: "as it was", json: "as JSON says" }.freeze
          WAYS = { "dump" => "dump", "load" => "load", "dump_load" => "both" }.freeze
          # Of "Rails Cache Comparisons" (October 2024, an ARM Mac), on 1 MB of books: calls a second of both, and of
          # dumping.
          ARTICLE = { "as_message_pack" => [78.024, 155.636], "marshal" => [62.984, 114.629],
                      "as_json" => [61.546, 76.329], "json" => [61.427, 74.783] }.freeze
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

          def findings
            value, both = first_measured
            keeping = leader(both.to_a.select { |cell| form(cell) == :value })
            return [] unless keeping.clear?
            [Finding.new("Of serializers that keep everything #{name(keeping.first)} is the fastest there and back " \
                         "(#{title_of(value)}: #{spent(keeping.first)}).", anchor(value))]
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
              section.text(quick_note) if quick? && by_value.keys.first == value
              section.add(table(value, of_value))
              both = of(of_value, "dump_load")
              if both.any? { |cell| measured?(cell) }
                section.add(bars("Serializers: dump and load, #{title_of(value)}", both))
              end
              section.add(article(of_value)) if value.start_with?("books")
            end
          end

          def quick_note
            "The quick form has 20 books and 50 rows, in fewer blocks; without `--quick` there is the megabyte of " \
            "books too."
          end

          # A row for each serializer, of three cells.
          def table(value, of_value)
            note = "Microseconds a call; bytes of one value (the median). `as JSON says`: records come back as " \
                   "Hashes of their attributes, without what is associated."
            header = ["serializer", "bytes", "dump", "load", "both", "both, ratio", "objects, dump", "objects, load",
                      "comes back"]
            table = Report::Table.new(anchor(value), header:, command: command_for(value), note:,
                                      floor: floor(of_value))
            of(of_value, "dump").each do |dump|
              ways = WAYS.keys.map { |operation| of(of_value, operation).find { |cell| name(cell) == name(dump) } }
              table.row(*row(ways, header.size))
              ways.zip(WAYS.values) do |cell, way|
                table.raw("#{name(dump)}, #{way}", block_us(cell), unit: "us") if cell && measured?(cell)
              end
            end
            table
          end

          def row(ways, width)
            dump, load, both = ways
            failed = ways.compact.find { |cell| !measured?(cell) }
            return [name(dump), missing(failed), *[""] * (width - 2)] if failed
            [name(dump), bytes(dump), time(dump), load ? time(load) : "", both ? time(both) : "",
             both ? ratio(both) : "", objects(dump), objects(load), FORMS.fetch(form(dump))]
          end

          # Facts of another machine: to be read as ratios.
          def article(of_value)
            table = Report::Table.new("Serializers: the article's figures beside ours, " \
                                      "#{title_of(of_value.first["value"])}",
                                      header: ["serializer", "article: both, by Marshal's time", "here: both",
                                               "article: dump", "here: dump"],
                                      note: "Published in October 2024, on another machine, on its own 1 MB of " \
                                            "books. There JSON was asked through Active Support, which is " \
                                            "`as_json` here.")
            ARTICLE.each do |name, figures|
              ours = %w[dump_load dump].map { |way| of(of_value, way).find { |cell| name(cell) == name } }
              next if ours.any?(&:nil?)
              published = ARTICLE["marshal"].zip(figures).map do |marshal, own|
                Report::Cell.number(marshal / own, unit: "x")
              end
              table.row(name, *published.zip(ours.map { |cell| measured?(cell) ? ratio(cell) : missing(cell) }).flatten)
            end
            table
          end

          def add_fidelity(document)
            document.section("What is lost") do |section|
              section.text("Each thing was sent through each serializer: `yes` came back the same, a class is what " \
                           "came back instead, `refused` raised an error. Other words say what is different.")
              section.add(fidelity)
            end
          end

          def fidelity
            names = rows("fidelity").map { |row| row["serializer"] }
            table = Report::Table.new("Serializers: what comes back", header: ["", *names], command: command_for(nil))
            (rows("fidelity").first.keys - ["serializer"]).each do |specimen|
              table.row(specimen, *rows("fidelity").map { |row| fate(row[specimen]) })
            end
            table
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
end
