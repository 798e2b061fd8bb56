# frozen_string_literal: true

require "uri"

module Tiercel
  module Lab
    module Tables
      module Gate
        # A cell of a gate: a benchmark of the user, or an operation of a store on a value.
        GatedCell = Data.define(:label, :text, :operation, :value) do
          # @param name [String]
          # @param clock [String] "cpu" or "wall"
          # @param servers [Array<String>]
          def self.benchmark(name, clock:, servers:)
            facts = URI.encode_www_form(clock:, servers: servers.join(","))
            new(label: name, text: "benchmark:#{URI.encode_www_form_component(name)}?#{facts}",
                operation: Operations.fetch("benchmark"), value: Values.fetch("benchmark"))
          end

          # @raise [UsageError] if one of them is not known
          def self.store(store, operation, value)
            new(label: [operation, value, store].join(" "), text: Contestants.parse(store).text,
                operation: Operations.fetch(operation), value: Values.fetch(value))
          end
        end
      end
    end
  end
end
