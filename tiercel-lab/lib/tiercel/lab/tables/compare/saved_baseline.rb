# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Compare
        # Cells of an earlier run, to which new cells are compared. The runs are not interleaved, so the ratio includes
        # changes of the machine since then.
        class SavedBaseline
          # Two runs of the same code differ in addresses, temperature and neighbours, so the margin is at least this.
          LEAST_MARGIN = 0.10

          # @return [String]
          attr_reader :path

          # @param path [String] a run's file, see {Engine::Results.load}
          # @raise [UsageError]
          def initialize(path)
            @path = path
            @results = Engine::Results.load(path)
          end

          # @param stores [Array<String>] texts of contestants
          # @return [Array<Array(String, String, String)>] store, value and operation of each cell that can be compared
          #   to
          # @raise [UsageError] if the file has no such cell
          def cells_of(stores)
            found = stores.product(usable).filter_map { |text, cell| key(cell) if cell["contestant"]["text"] == text }
            return found.uniq if found.any?
            there = usable.map { |cell| cell["contestant"]["text"] }.uniq
            raise UsageError,
                  "#{path}: it has no cells of #{stores.join(", ")}; it has #{there.any? ? there.join(", ") : "none"}"
          end

          # @param record [Hash{String => Object}] a measured cell of the new run, as results hold it
          # @return [Hash{String => Object}, nil] "then" (ns), "ratio", "threshold", "verdict"; nil: not in the file
          def against(record)
            old = usable.reverse.find { |cell| key(cell) == key(record) }
            return unless old && record["summary"]
            one, other = [old, record].map { |cell| logarithms(cell["summary"]["ns"]) }
            ratio = other.minus(one).exp
            floor = [old["summary"]["floor"], record["summary"]["floor"], null_floor].compact.max.to_f
            margin = [LEAST_MARGIN, Engine::Protocol::FLOORS * floor].max
            { "cell" => record["id"], "then" => old["summary"]["ns"], "ratio" => ratio.record, "threshold" => margin,
              "verdict" => Statistics::Verdict.of(ratio, margin:, equality: false).to_s,
              "allocations" => old.dig("exact", "allocations"), "stored_bytes" => old.dig("exact", "stored_bytes") }
          end

          # @param environment [Hash{String => Object}] environment of the new run
          # @return [Array<String>] further differences between the runs
          def differences(environment)
            then_and_now = %w[cpu kernel ruby].filter_map do |fact|
              before, after = @results["environment"][fact], environment[fact]
              "#{fact}: #{before} then, #{after} now" unless before == after
            end
            ["Not interleaved: the baseline was measured at #{@results["run"]["started_at"]}.", *then_and_now]
          end

          private

          def usable
            @usable ||= @results["cells"].select do |cell|
              %w[baseline contestant].include?(cell["role"]) && cell["status"] == "measured" && cell["summary"]
            end
          end

          def null_floor
            @results["cells"].filter_map { |cell| cell.dig("summary", "floor") if cell["role"] == "null" }.max
          end

          def key(cell) = [cell["contestant"]["text"], cell["value"], cell["operation"]]

          def logarithms(hash)
            Statistics::Interval.new(*hash.values_at("estimate", "low", "high").map { |ns| Math.log(ns) })
          end
        end
      end
    end
  end
end
