# frozen_string_literal: true

require_relative "../table"

module Tiercel
  module Lab
    module Tables
      # Shows where the time of a call goes: the same call with more and more layers removed.
      module Layers
        class Table < Tables::Table
          called "layers", "The time of a call, layer by layer."
          example "layers --quick", "layers --backend memory:", "layers --markdown"
          in_all 130

          BASELINE = "memory_store"
          # Contestant and operation of each arm; BACKEND stands for the chosen backend. A null store has only misses.
          ALONE = [
            %w[null_store miss], %w[tiercel:null: miss], %w[tiercel:BACKEND backend_get], %w[tiercel:BACKEND read],
            %w[tiercel:BACKEND#fast_path=false read], %w[tiercel:BACKEND fetch], %w[tiercel:BACKEND write],
            %w[memory_store fetch], %w[memory_store write]
          ].freeze
          # A subscriber affects its whole process, so this arm has its own comparison.
          SUBSCRIBED = [%w[tiercel:BACKEND read_subscribed]].freeze
          VALUE = "string-1kb"

          def options(parser)
            parser.on("--backend URL", "a Tiercel backend (shared:)") do |url|
              @backend = url if Contestants.parse("tiercel:#{url}")
            end
            parser.on("--value NAME", "see `help values` (#{VALUE})") { |name| @value = Values.fetch(name) }
          end

          def plan
            [comparison("read", ALONE, loop: true), comparison("read_subscribed", SUBSCRIBED)]
          end

          private

          def comparison(operation, arms, loop: false)
            Engine::Comparison.between(value: @value || Values.fetch(VALUE), loop:,
                                       baseline: [contestant(BASELINE), Operations.fetch(operation)],
                                       others: arms.map { |text, name| [contestant(text), Operations.fetch(name)] })
          end

          def contestant(text)
            (@contestants ||= {})[text] ||= Contestants.parse(text.sub("BACKEND", @backend || "shared:"))
          end
        end

        class View < Tables::View
          # The meaning of each arm: contestant's name, operation, words.
          MEANINGS = [
            [/\Anull_store\z/, "miss",
             "Rails' own methods: options, name, version, events, Entry; nothing is looked up"],
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

          def sentence
            hit = cells(operation: "read").find { |cell| name(cell).match?(/\Atiercel:(?!null:)[^#]*\z/) }
            rails = cells(operation: "miss").find { |cell| name(cell) == "null_store" }
            return "Not everything could be measured." unless hit && rails && measured?(hit) && measured?(rails)
            time = told([hit, rails]).time_words(hit, rails, "Rails' own methods")
            "A hit costs #{spent(hit)}, all of it: #{time} alone (#{spent(rails)})."
          end

          def fill(document)
            document.section("Layers") do |section|
              section.text("Each row is the same call with another part of the way left out; what a layer costs is " \
                           "the difference of two rows.")
              section.add(cell_table("Layers: one call", cells, columns, label: method(:label), labels: 2))
              section.add(bars("Layers: time of one call", cells, label: method(:label)))
            end
          end

          private

          def columns
            { "call" => :label, "what it shows" => :meaning, "time" => :time, "ratio" => :ratio,
              "objects" => ->(cell) { cell.dig("exact", "allocations")&.round } }
          end

          def label(cell) = "#{name(cell)} #{cell["operation"]}"

          def meaning(cell)
            found = MEANINGS.find do |contestant, operation, _words|
              contestant.match?(name(cell)) && operation === cell["operation"]
            end
            found&.last || ""
          end
        end
      end

      add Layers::Table
    end
  end
end
