# frozen_string_literal: true

require_relative "../comparison"
require_relative "../documents/layers"
require_relative "../table_command"

module Tiercel
  module Lab
    module Commands
      # Where the time of a call goes, layer by layer: the same call with less and less beneath it.
      class Layers < TableCommand
        called "layers", "Where the time of a call goes: Rails' methods, the fast path, the backend."
        example "layers --quick", "layers --backend memory:", "layers --markdown"

        BASELINE = "memory_store"
        # Contestant and operation of each arm; BACKEND is the one that was asked for. A null store has only misses.
        ALONE = [
          %w[null_store miss], %w[tiercel:null: miss], %w[tiercel:BACKEND backend_get], %w[tiercel:BACKEND read],
          %w[tiercel:BACKEND#fast_path=false read], %w[tiercel:BACKEND fetch], %w[tiercel:BACKEND write],
          %w[memory_store fetch], %w[memory_store write]
        ].freeze
        # A subscriber is there for a whole process, so these are measured apart.
        SUBSCRIBED = [%w[tiercel:BACKEND read_subscribed]].freeze
        VALUE = "string-1kb"

        def self.document(results, command:) = Documents::Layers.new(results, command:).build

        def options(parser)
          parser.on("--backend URL", "a Tiercel backend (shared:)") { |url| @backend = url }
          parser.on("--value NAME", "of #{Values.names.join(", ")} (#{VALUE})") { |name| @value = Values.fetch(name) }
        end

        def plan
          [comparison("read", ALONE, loop: true), comparison("read_subscribed", SUBSCRIBED)]
        end

        private

        def comparison(operation, arms, loop: false)
          Comparison.between(value: @value || Values.fetch(VALUE), loop:,
                             baseline: [contestant(BASELINE), Operations.fetch(operation)],
                             others: arms.map { |text, name| [contestant(text), Operations.fetch(name)] })
        end

        def contestant(text)
          (@contestants ||= {})[text] ||= Contestants.parse(text.sub("BACKEND", backend))
        end

        def backend = @backend || "shared:"
      end

      add Layers
    end
  end
end
