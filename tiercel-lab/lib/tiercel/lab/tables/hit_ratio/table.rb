# frozen_string_literal: true

require_relative "../../simulator"
require_relative "../table"

module Tiercel
  module Lab
    module Tables
      # Replays named workloads through eviction policies and stores.
      module HitRatio
        class Table < Tables::Table
          called "hit-ratio", "Hit ratios of eviction policies and stores on workloads."
          example "hit-ratio", "hit-ratio shared: memory: --quick",
                  "hit-ratio sqlite: --workload zipf-1.0,scans --share 0.05",
                  "hit-ratio --policy lru,s3_fifo --seeds 1,2,3,4,5"
          takes :quick

          # The length of the traces, and the seeds, of a quick run.
          QUICK = { requests: 200_000, seeds: %w[1], within: 20 }.freeze
          # A full run takes two minutes. In longer traces (--requests 1000000) fewer requests are the first for their
          # key, which always miss.
          FULL = { requests: 300_000 }.freeze
          # Requests a second of a policy in Ruby, for the plan; measured on two shared cores.
          REQUESTS_PER_SECOND = 350_000.0

          def self.usage = "[URL...]"

          def options(parser)
            parser.on("--workload A,B", Array, "see `help workloads`") { |names| @workloads = names }
            parser.on("--policy A,B", Array, "see `help policies`, or none") { |names| @policies = names - ["none"] }
            parser.on("--share SHARE", Float, "capacity as a share of all values (0.1)") { |share| @share = share }
            parser.on("--seeds A,B", Array, "names of seeds (1,2,3)") { |seeds| @seeds = seeds }
            parser.on("--requests N", Integer, "length of the traces") { |count| @requests = count }
            parser.on("--within SECONDS", Float, "for one store and trace (120)") { |seconds| @within = seconds }
          end

          def accept(rest) = @stores = rest

          # There are no cells. Building the comparison finds wrong names before anything runs.
          def plan
            comparison
            []
          end

          def expected_seconds = comparison.requests / REQUESTS_PER_SECOND

          def plan_in_words = comparison.plan.join("\n")

          def take(_comparisons)
            figures = comparison.titles.to_h { |title| [title, {}] }
            run.watch(expected_seconds) { |progress| replay(figures, progress) }
            foreseeing = Simulator::POLICIES.fetch(:belady).title
            rows = figures.map do |title, found|
              { "name" => title, "foresees" => title == foreseeing, "figures" => found, **missing(title, found) }
            end
            run.table("hit_ratio", rows, workloads: comparison.names, note: comparison.note)
          end

          private

          def replay(figures, progress)
            label = nil
            each = expected_seconds / (comparison.titles.size * comparison.names.size)
            comparison.each_figure(->(text) { label = text }) do |title, workload, figure|
              figures[title][workload] = record(figure)
              progress.advance(each, label)
            end
          end

          # @return [Hash{String => String}] why a store has no figures
          def missing(title, found)
            reason = found.values.filter_map { |figure| figure["reason"] }.first or return {}
            { "store" => title, **Engine::Outcome.failure(Engine::Outcome::CANNOT_RUN, reason) }
          end

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

          def record(figure)
            return { "reason" => figure } if figure.is_a?(String)
            { "estimate" => figure.estimate, "low" => figure.low, "high" => figure.high,
              "seeds" => figure.results.size }
          end
        end

        class View < Tables::View
          def title = "Hit ratio of eviction policies and stores"

          def subtitle = "Replayed traces; the same seeds give the same requests"

          # The best policy of each workload, except the one that knows the future.
          def sentence
            best = workloads.filter_map { |name| best_on(name) }
            best.any? ? "Most hits: #{best.join(", ")}." : "No hit ratio was found."
          end

          def fill(document)
            document.section("Hit ratio") do |section|
              columns = workloads.to_h { |name| [name, ->(row) { hits(row["figures"][name]) }] }
              section.add(columns_table("Hit ratio", rows("hit_ratio"), { "policy or store" => "name", **columns },
                                        note: notes("hit_ratio")["note"]))
              section.add(heatmap) if rows("hit_ratio").size > 1
            end
          end

          private

          def workloads = notes("hit_ratio").fetch("workloads", [])

          # The best has the fewest misses.
          def best_on(workload)
            leader = leader_on(workload) or return
            format("%s on %s (%.1f %%)", leader.words { |row| row["name"] }, workload,
                   leader.first["figures"][workload]["estimate"])
          end

          # @return [Leader, nil] compares the rows
          def leader_on(workload)
            rows = rows("hit_ratio").select { |row| !row["foresees"] && row["figures"].dig(workload, "estimate") }
            Leader.new(rows.to_h { |row| [row, misses(row["figures"][workload])] }, margin: 0.0) if rows.any?
          end

          def misses(found)
            estimate, low, high = found.values_at("estimate", "low", "high")
            Statistics::Interval.new(100.0 - estimate, 100.0 - (high || estimate), 100.0 - (low || estimate))
          end

          def hits(found)
            return Report::Cell.missing(found ? found["reason"] : "interrupted") if found.nil? || found["reason"]
            figure(found["seeds"] == 1 ? found["estimate"] : interval(found), digits: 1)
          end

          # Shows misses, so that less is better, as in the other heatmaps.
          def heatmap
            chart = Report::Charts::Heatmap.new("Hit ratio: reads that miss",
                                                rows: rows("hit_ratio").map { |row| row["name"] }, columns: workloads,
                                                unit: "%", row_name: "policy or store", column_name: "workload")
            rows("hit_ratio").each do |row|
              row["figures"].each do |name, found|
                chart.set(row["name"], name, 100 - found["estimate"]) if found["estimate"]
              end
            end
            workloads.each do |name|
              leader = leader_on(name)
              chart.frame(leader.first["name"], name) if leader&.clear?
            end
            chart
          end
        end
      end

      add HitRatio::Table
    end
  end
end
