# frozen_string_literal: true

require "yaml"

module Tiercel
  module Lab
    module Tables
      module Gate
        # The settings of a repository's gate: the section `gate` of `.tiercel-lab.yml`. Unknown keys are errors,
        # because a misspelled margin would gate nothing.
        class Configuration
          FILE = ".tiercel-lab.yml"
          # Exact figures: the key in the file, and the words of the report.
          EXACT = { "objects" => "objects allocated by one call", "stored_bytes" => "bytes stored for one value",
                    "round_trips" => "round trips of one call", "wire_bytes" => "bytes on the wire for one call",
                    "queries" => "SQL queries of one call" }.freeze
          TIME = "time"
          # Nobody notices a smaller difference in time. Exact figures gate any increase.
          MARGINS = { TIME => 0.05, **EXACT.to_h { |metric, _words| [metric, 0] } }.freeze
          SERVERS = %w[memcached redis].freeze
          ON_CANNOT_TELL = %w[pass fail].freeze
          DEFAULTS = { "benchmarks" => "bench/**/*_bench.rb", "cells" => [], "servers" => [], "margins" => {},
                       "budget" => 300, "prepare" => [], "sources" => nil, "cannot_tell" => "pass" }.freeze
          CELL = { "store" => nil, "operations" => %w[read write], "values" => %w[html-2kb] }.freeze

          # @param path [String] path of the file
          # @return [Configuration]
          # @raise [UsageError] if the file is missing or invalid
          def self.read(path)
            raise UsageError, "#{path}: there is no such file; `init gate` writes it" unless File.file?(path)
            new(YAML.safe_load_file(path) || {}, path:)
          rescue Psych::Exception => e
            raise UsageError, "#{path}: not YAML: #{e.message}"
          end

          # @param facts [Hash] the file's content
          # @param path [String] the file's path, for messages
          def initialize(facts, path: FILE)
            @path = path
            own = facts.is_a?(Hash) ? facts["gate"] || {} : facts
            @facts = DEFAULTS.merge(mapping(own, "gate", DEFAULTS.keys).compact)
            check
          end

          # @return [Array<String>] globs of files with benchmarks, below the repository
          def benchmarks = list("benchmarks")

          # @return [Array<Array(String, String, String)>] store, operation and value of each cell of the lab's own
          def cells
            @facts["cells"].flat_map do |cell|
              store, *others = CELL.merge(cell.compact).values_at(*CELL.keys).map { |part| Array(part) }
              store.product(*others)
            end
          end

          # @return [Array<String>] servers that run for the benchmarks
          def servers = list("servers")

          # @return [Hash{String => Float, nil}] the allowed growth of each figure: a share of the time, a number of
          #   exact
          #   figures; nil: it does not gate (a time is not even measured)
          def margins = MARGINS.merge(@facts["margins"])

          # @return [Float] seconds for timings
          def budget_seconds = Float(@facts["budget"])

          # @return [Array<String>] shell commands that make a tree ready
          def prepare = list("prepare")

          # @return [Array<String>, nil] globs of files that figures can depend on; nil: all
          def sources = @facts["sources"] && list("sources")

          # @return [Boolean] whether an undecided cell fails the gate
          def strict? = @facts["cannot_tell"] == "fail"

          # @return [Hash{String => Object}] the form of the results file
          def describe
            { "benchmarks" => benchmarks, "cells" => cells.map { |cell| cell.join(" ") }, "margins" => margins,
              "budget_seconds" => budget_seconds, "servers" => servers }
          end

          private

          def check
            mapping(@facts["margins"], "margins", MARGINS.keys).each { |name, margin| check_margin(name, margin) }
            cells, budget, word = @facts.values_at("cells", "budget", "cannot_tell")
            refuse("cells", cells, "a list of mappings with store, operations, values") unless cells.is_a?(Array)
            cells.each { |cell| check_cell(cell) }
            (servers - SERVERS).each { |name| refuse("servers", name, SERVERS.join(", ")) }
            refuse("budget", budget, "seconds above 0") unless budget.is_a?(Numeric) && budget.positive?
            refuse("cannot_tell", word, ON_CANNOT_TELL.join(" or ")) unless ON_CANNOT_TELL.include?(word)
            %w[benchmarks prepare sources].each { |key| list(key) }
          end

          def check_margin(name, margin)
            return if margin.nil? || (margin.is_a?(Numeric) && !margin.negative?)
            refuse("margins: #{name}", margin, "a number of at least 0 (time: a share, 0.05 is 5 %), or null")
          end

          def check_cell(cell)
            mapping(cell, "cells", CELL.keys)
            refuse("cells", cell, "a store") unless cell["store"]
          end

          def mapping(facts, key, known)
            refuse(key, facts, "a mapping of #{known.join(", ")}") unless facts.is_a?(Hash)
            unknown = facts.keys.map(&:to_s) - known
            return facts if unknown.empty?
            raise UsageError, "#{@path}: #{key}: #{Catalogue.unknown("key", unknown.first, known)}"
          end

          def list(key)
            found = Array(@facts[key])
            return found if found.all?(String)
            refuse(key, found, "words, or a list of them")
          end

          def refuse(key, found, expected)
            raise UsageError, "#{@path}: #{key}: #{found.inspect}: expected #{expected}"
          end
        end
      end
    end
  end
end
