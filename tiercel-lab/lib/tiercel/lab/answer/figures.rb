# frozen_string_literal: true

require_relative "../statistics"
require_relative "candidate"
require_relative "page"

module Tiercel
  module Lab
    module Answer
      # The cost of a page with each store: the sum of its calls, by means with garbage collection. A store needs a
      # figure for every call of the page.
      class Figures
        # The operations that can represent a hit; the first measured one is used.
        HITS = %w[read fetch].freeze

        # @param results [Hash{String => Object}]
        # @param page [Page]
        def initialize(results, page = Page::ASSUMED)
          @results = results
          @page = page
          cells = results["cells"].select do |cell|
            %w[baseline contestant].include?(cell["role"]) && cell["status"] == "measured" && cell["summary"]
          end
          @groups = cells.group_by { |cell| cell.values_at("value", "operation") }
        end

        # @return [Array<Candidate>]
        def candidates = @candidates ||= weights.any? ? complete.filter_map { |name| candidate(name) } : []

        # @return [Boolean] whether two costs can be found equal
        def equality? = @results["run"]["protocol"].fetch("equality", @results["run"]["protocol"]["name"] != "quick")

        # @return [String] a sentence with the calls of a page
        def words
          reads = values.map { |value| "#{Report::Format.number(reads_of(value))} of #{value}" }.join(", ")
          return "An assumed page: hits: #{reads}." unless weights.any? { |(_, operation), _| operation == "write" }
          "#{@page.source ? "The page of #{@page.source}" : "An assumed page"}: #{reads}; #{@page.miss_words}."
        end

        private

        def hit = HITS.find { |operation| @groups.any? { |(_, other), _| other == operation } }

        def values
          all = @groups.keys.filter_map { |value, operation| value if operation == hit }
          known = all & @page.values
          known.any? ? known : all
        end

        def reads_of(value) = @page.reads.fetch(value, 1.0)

        # @return [Hash{Array(String, String) => Float}] calls of a page, by value and operation
        def weights
          @weights ||= values.each_with_object({}) do |value, found|
            missed = %w[write miss].select { |operation| @groups.key?([value, operation]) }
            found[[value, hit]] = reads_of(value) * (missed.include?("write") ? 1 - @page.misses : 1.0)
            missed.each { |operation| found[[value, operation]] = reads_of(value) * @page.misses }
          end
        end

        def counted = @groups.select { |key, _| weights.key?(key) }

        # @return [Array<String>] contestants with a figure for every call
        def complete = counted.values.map { |cells| cells.map { |cell| cell["contestant"]["name"] } }.reduce(:&) || []

        def candidate(name)
          calls = counted.map { |key, cells| [weights[key], cost(cells, name)] }
          cells = counted.values.map { |group| cell_of(group, name) }
          Candidate.of(cells.first["contestant"], page_us: sum(calls), page_calls: weights.values.sum,
                                                  page_bytes: page_bytes(name),
                                                  entry_bytes: entry_bytes(name), margin: margin(cells))
        end

        # The largest margin of the cells; the baseline has none.
        def margin(cells) = cells.filter_map { |cell| cell["summary"]["threshold"] }.max || 0.0

        def cell_of(cells, name) = cells.find { |cell| cell["contestant"]["name"] == name }

        # The ratio to the baseline, from blocks that ran next to each other, times the baseline's cost.
        #
        # @return [Statistics::Interval] microseconds of a call
        def cost(cells, name)
          cell = cell_of(cells, name)
          baseline = cells.find { |other| other["role"] == "baseline" }
          return whole(cell) unless baseline && cell["summary"]["ratio"]
          ratio = interval(cell["summary"]["mean_ratio"] || cell["summary"]["ratio"])
          ratio.map { |times| times * whole(baseline).estimate }
        end

        # Results of older versions have the collection time in a separate figure.
        def whole(cell)
          summary = cell["summary"]
          return interval(summary["mean_ns"]).map { |ns| ns / 1e3 } if summary["mean_ns"]
          interval(summary["ns"]).map { |ns| (ns + summary["gc_ns"].to_f) / 1e3 }
        end

        def interval(record) = Statistics::Interval.new(*record.values_at("estimate", "low", "high"))

        # Other processes measure other values, so their errors are independent.
        def sum(calls)
          total = calls.sum { |count, us| count * us.estimate }
          below, above = [:low, :high].map do |bound|
            Math.sqrt(calls.sum { |count, us| (count * (us.estimate - us.public_send(bound)))**2 })
          end
          Statistics::Interval.new(total, [total - below, total * 0.01].max, total + above)
        end

        def page_bytes(name)
          values.sum do |value|
            stored = bytes(name, value, "mean_bytes") or return
            reads_of(value) * stored
          end
        end

        def entry_bytes(name) = values.filter_map { |value| bytes(name, value, "largest_bytes") }.max.to_f

        # Results of older versions have the median alone.
        def bytes(name, value, fact)
          exact = cell_of(@groups.fetch([value, hit]), name)["exact"]
          exact[fact] || exact["stored_bytes"]
        end
      end
    end
  end
end
