# frozen_string_literal: true

require_relative "../documents/hit_ratio"
require_relative "../simulator"
require_relative "../table_command"

module Tiercel
  module Lab
    module Commands
      # Eviction policies and stores on named workloads.
      class HitRatio < TableCommand
        called "hit-ratio", "Replays workloads through eviction policies, and through stores given by their URL."
        example "hit-ratio", "hit-ratio shared: memory: --quick",
                "hit-ratio sqlite: --workload zipf-1.0,scans --share 0.05",
                "hit-ratio --policy lru,s3_fifo --seeds 1,2,3,4,5"

        # Length of the traces and seeds of --quick.
        QUICK = { requests: 200_000, seeds: %w[1], within: 20 }.freeze
        # Two minutes for everything; longer traces (--requests 1000000) have a smaller share of first requests, which
        # nobody hits.
        FULL = { requests: 300_000 }.freeze

        # Requests a second of a policy in Ruby, and what a store takes of that, for the plan; measured on two shared
        # cores.
        REQUESTS_PER_SECOND = 350_000.0

        def self.document(results, command:) = Documents::HitRatio.new(results, command:).build

        def options(parser)
          workloads, policies = Simulator::Workloads.names.join(", "), Simulator::POLICIES.names.join(", ")
          parser.on("--workload A,B", Array, "of #{workloads}") { |names| @workloads = names }
          parser.on("--policy A,B", Array, "of #{policies}, or none") { |names| @policies = names - ["none"] }
          parser.on("--share SHARE", Float, "capacity by the size of all values (0.1)") { |share| @share = share }
          parser.on("--seeds A,B", Array, "names of seeds (1,2,3)") { |seeds| @seeds = seeds }
          parser.on("--requests N", Integer, "length of the traces") { |count| @requests = count }
          parser.on("--within SECONDS", Float, "for one store and trace (120)") { |seconds| @within = seconds }
        end

        def accept(rest) = @stores = rest

        # Nothing is measured on a clock; wrong names are found before anything runs.
        def plan
          comparison
          []
        end

        def expected_seconds = comparison.requests / REQUESTS_PER_SECOND

        def take(_comparisons)
          figures = comparison.titles.to_h { |title| [title, {}] }
          session.watch(expected_seconds) do |progress|
            label = nil
            each = expected_seconds / (comparison.titles.size * comparison.names.size)
            comparison.each_figure(->(text) { label = text }) do |title, workload, figure|
              figures[title][workload] = record(figure)
              progress.advance(each, label)
            end
          end
          foreseeing = Simulator::POLICIES.fetch(:belady).title
          rows = figures.map do |title, found|
            { "name" => title, "foresees" => title == foreseeing, "figures" => found }
          end
          session.recorder.table("hit_ratio", rows, workloads: comparison.names, note: comparison.note)
        end

        private

        def comparison
          @comparison ||= Simulator::Comparison.new(**choices)
        rescue ConfigurationError, ArgumentError => e
          raise UsageError, e.message
        end

        def choices
          given = { workloads: @workloads, policies: @policies, urls: @stores, share: @share, seeds: @seeds,
                    requests: @requests, within: @within }
          (settings.quick ? QUICK : FULL).merge(given.compact)
        end

        def plan_in_words = comparison.plan.join("\n")

        def record(figure)
          return { "reason" => figure.to_s } if figure.is_a?(Report::Cell)
          { "estimate" => figure.estimate, "low" => figure.low, "high" => figure.high, "seeds" => figure.results.size }
        end
      end

      add HitRatio
    end
  end
end
