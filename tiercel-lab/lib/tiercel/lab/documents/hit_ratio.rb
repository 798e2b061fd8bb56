# frozen_string_literal: true

require_relative "table"

module Tiercel
  module Lab
    module Documents
      # Hit ratios of policies and stores on named workloads.
      class HitRatio < Table
        def title = "Hit ratio of eviction policies and stores"

        def subtitle = "Replayed traces; the same seeds give the same requests"

        def fill(document)
          document.verdict(sentence, warnings:)
          document.section("Hit ratio") do |section|
            section.table("Hit ratio", header: ["policy or store", *workloads], command:,
                          note: notes("hit_ratio")["note"]) do |table|
              rows("hit_ratio").each do |row|
                table.row(row["name"], *workloads.map { |name| figure(row["figures"][name]) })
              end
            end
            section.add(heatmap) if rows("hit_ratio").size > 1
          end
        end

        private

        def workloads = notes("hit_ratio").fetch("workloads", [])

        # The best of each workload, leaving out what knows the future.
        def sentence
          best = workloads.filter_map { |name| best_on(name) }
          best.any? ? "Most hits: #{best.join(", ")}." : "No hit ratio was found."
        end

        # Fewest misses: less is better there.
        def best_on(workload)
          rows = candidates.select { |row| row["figures"].dig(workload, "estimate") }
          return if rows.empty?
          misses = rows.to_h do |row|
            estimate, low, high = row["figures"][workload].values_at("estimate", "low", "high")
            [row, Statistics::Interval.new(100.0 - estimate, 100.0 - (high || estimate), 100.0 - (low || estimate))]
          end
          leader = Leader.new(misses, margin: 0.0)
          hits = leader.first["figures"][workload]["estimate"]
          format("%s on %s (%.1f %%)", leader.words { |row| row["name"] }, workload, hits)
        end

        def candidates = rows("hit_ratio").reject { |row| row["foresees"] }

        def figure(found)
          return Report::Cell.missing("interrupted") unless found
          return Report::Cell.missing(found["reason"]) if found["reason"]
          return Report::Cell.number(found["estimate"], digits: 1) if found["seeds"] == 1
          Report::Cell.interval(interval(found), digits: 1)
        end

        # Of misses: less is better there, as in the other heatmaps.
        def heatmap
          chart = Report::Charts::Heatmap.new("Hit ratio: reads that miss",
                                              rows: rows("hit_ratio").map { |row| row["name"] },
                                              columns: workloads, unit: "%", row_name: "policy or store",
                                              column_name: "workload")
          rows("hit_ratio").each do |row|
            row["figures"].each do |name, found|
              chart.set(row["name"], name, 100 - found["estimate"]) if found["estimate"]
            end
          end
          chart
        end
      end
    end
  end
end
