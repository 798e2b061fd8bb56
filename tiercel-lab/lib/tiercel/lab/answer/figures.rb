# frozen_string_literal: true

require_relative "../statistics"
require_relative "candidate"

module Tiercel
  module Lab
    module Answer
      # The cost of a page with each store of a run: the sum of its calls, by whole costs (means, with garbage
      # collection) where the run has them. A store takes part if it has a figure for every call that the others have.
      class Figures
        # Reads of one page by value. A run that measured none of them counts every value once.
        READS = { "string-100b" => 20, "html-2kb" => 20, "html-24kb" => 3, "rows-50" => 1, "books" => 1 }.freeze
        # Of the reads: those find nothing, and the value is written.
        MISSES = 0.05
        # The operations of a hit, the first one that was measured.
        HITS = %w[read fetch].freeze

        # @param results [Hash{String => Object}]
        def initialize(results)
          @results = results
          cells = results["cells"].select do |cell|
            %w[baseline contestant].include?(cell["role"]) && cell["status"] == "measured" && cell["summary"]
          end
          @groups = cells.group_by { |cell| cell.values_at("value", "operation") }
        end

        # @return [Array<Candidate>]
        def candidates = @candidates ||= weights.any? ? complete.filter_map { |name| candidate(name) } : []

        # @return [Boolean] whether two costs may be called the same
        def equality? = @results["run"]["protocol"].fetch("equality", @results["run"]["protocol"]["name"] != "quick")

        # @return [String] the calls of a page
        def words
          reads = values.map { |value| "#{Report::Format.number(reads_of(value))} of #{value}" }.join(", ")
          return "A page: hits: #{reads}." unless weights.any? { |(_, operation), _| operation == "write" }
          "A page: #{reads}; one read in #{(1 / MISSES).round} is missed and written."
        end

        private

        def hit = HITS.find { |operation| @groups.any? { |(_, other), _| other == operation } }

        def values
          all = @groups.keys.filter_map { |value, operation| value if operation == hit }
          known = all & READS.keys
          known.any? ? known : all
        end

        def reads_of(value) = READS.fetch(value, 1)

        # @return [Hash{Array(String, String) => Float}] calls of a page, by value and operation
        def weights
          @weights ||= values.each_with_object({}) do |value, found|
            missed = %w[write miss].select { |operation| @groups.key?([value, operation]) }
            found[[value, hit]] = reads_of(value) * (missed.include?("write") ? 1 - MISSES : 1.0)
            missed.each { |operation| found[[value, operation]] = reads_of(value) * MISSES }
          end
        end

        def counted = @groups.select { |key, _| weights.key?(key) }

        # @return [Array<String>] contestants with all of them
        def complete = counted.values.map { |cells| cells.map { |cell| cell["contestant"]["name"] } }.reduce(:&) || []

        def candidate(name)
          calls = counted.map { |key, cells| [weights[key], cost(cells, name)] }
          cells = counted.values.map { |group| cell_of(group, name) }
          Candidate.of(cells.first["contestant"], page_us: sum(calls), page_calls: weights.values.sum,
                                                  page_bytes: bytes(name), margin: margin(cells))
        end

        # The baseline has none of its own.
        def margin(cells) = cells.filter_map { |cell| cell["summary"]["threshold"] }.max || 0.0

        def cell_of(cells, name) = cells.find { |cell| cell["contestant"]["name"] == name }

        # By the ratio of blocks that ran next to each other, times the baseline's cost.
        #
        # @return [Statistics::Interval] us a call
        def cost(cells, name)
          cell = cell_of(cells, name)
          baseline = cells.find { |other| other["role"] == "baseline" }
          return whole(cell) unless baseline && cell["summary"]["ratio"]
          ratio = interval(cell["summary"]["mean_ratio"] || cell["summary"]["ratio"])
          ratio.map { |times| times * whole(baseline).estimate }
        end

        # Results of older versions have the collector's part apart.
        def whole(cell)
          summary = cell["summary"]
          return interval(summary["mean_ns"]).map { |ns| ns / 1e3 } if summary["mean_ns"]
          interval(summary["ns"]).map { |ns| (ns + summary["gc_ns"].to_f) / 1e3 }
        end

        def interval(record) = Statistics::Interval.new(*record.values_at("estimate", "low", "high"))

        # Different values are measured by different processes: their errors are independent.
        def sum(calls)
          total = calls.sum { |count, us| count * us.estimate }
          below, above = [:low, :high].map do |bound|
            Math.sqrt(calls.sum { |count, us| (count * (us.estimate - us.public_send(bound)))**2 })
          end
          Statistics::Interval.new(total, [total - below, total * 0.01].max, total + above)
        end

        def bytes(name)
          values.sum do |value|
            stored = cell_of(@groups.fetch([value, hit]), name).dig("exact", "stored_bytes") or return
            reads_of(value) * stored
          end
        end
      end
    end
  end
end
