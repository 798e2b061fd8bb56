# frozen_string_literal: true

require_relative "table"

module Tiercel
  module Lab
    module Documents
      # The report of {Commands::Layers}.
      class Layers < Table
        # What each arm shows: contestant's type and place, operation, words.
        MEANINGS = [
          [/\Anull_store\z/, "miss", "Rails' own methods: options, name, version, events, Entry; nothing is looked up"],
          [/\Atiercel:null:/, "miss", "the fast path; nothing is looked up"],
          [/\Atiercel:/, "backend_get", "the backend alone: the frame's bytes"],
          [/fast_path=false\z/, "read", "the backend under Rails' own methods"],
          [/\Atiercel:/, "read", "the whole call: a hit"],
          [/\Atiercel:/, "fetch", "the whole call: a hit with a block at hand"],
          [/\Atiercel:/, "write", "the whole call"],
          [/\Atiercel:/, "read_subscribed", "a hit while somebody subscribes to the event"],
          [/\Amemory_store\z/, /./, "Rails' in-process store, for comparison"],
        ].freeze

        def title = "Where the time of a call goes"

        def fill(document)
          document.verdict(sentence, floor: worst_floor, warnings:)
          document.section("Layers") do |section|
            section.text("Each row is the same call with another part of the way left out; what a layer costs is the " \
                         "difference of two rows.")
            section.table("Layers: one call", header: ["call", "what it shows", "time", "ratio", "objects"],
                          command:) do |table|
              cells.each { |cell| add_row(table, cell) }
            end
            section.add(chart)
          end
        end

        private

        def add_row(table, cell)
          table.row(label(cell), meaning(cell), time(cell), ratio(cell), cell.dig("exact", "allocations")&.round)
          table.raw(label(cell), block_us(cell), unit: "us") if measured?(cell)
        end

        def label(cell) = "#{cell["contestant"]["name"]} #{cell["operation"]}"

        def meaning(cell)
          name = cell["contestant"]["name"]
          found = MEANINGS.find do |contestant, operation, _|
            contestant.match?(name) && operation === cell["operation"]
          end
          found&.last || ""
        end

        def chart
          bars = Report::Charts::BarChart.new("Layers: time of one call", unit: "us")
          cells.each do |cell|
            if measured?(cell)
              bars.row(label(cell), interval(cell["summary"]["ns"], 1e-3))
            else
              bars.missing(label(cell), cell["reason"].to_s)
            end
          end
          bars
        end

        def sentence
          hit = cells(operation: "read").find { |cell| cell["contestant"]["name"].match?(/\Atiercel:(?!null:)[^#]*\z/) }
          rails = cells(operation: "miss").find { |cell| cell["contestant"]["name"] == "null_store" }
          return "Not everything could be measured." unless hit && rails && measured?(hit) && measured?(rails)
          format("A hit costs %.2f us, all of it; Rails' own methods alone cost %.2f us.",
                 hit["summary"]["ns"]["estimate"] / 1e3, rails["summary"]["ns"]["estimate"] / 1e3)
        end
      end
    end
  end
end
