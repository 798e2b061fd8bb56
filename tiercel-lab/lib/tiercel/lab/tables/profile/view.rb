# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Profile
        # Shows times, the functions that take them, and the difference between two profiles. The profiler's own viewer
        # draws flame graphs.
        class View < Tables::View
          article(/times\z/)
          quick "Quick: few samples; shares are rough."

          TOP = 15
          TIMES = { "function" => :first, "share of the time" => lambda { |(_function, share)|
            figure(share.map { |part| part * 100 }, "%", digits: 1)
          } }.freeze
          # The 97.5 % quantile of the normal distribution, for 95 % intervals.
          Z = 1.959964

          def title = "Where the time goes: #{first_of("operation", "an operation")} of #{first_of("value", "a value")}"

          def sentence
            row = profiles.find { |profile| watched?(profile) } or return "No profile could be made."
            cell = cells.find { |candidate| candidate["contestant"]["text"] == row["text"] }
            time = cell && measured?(cell) ? "#{time(cell)} a call; " : ""
            shares = top(row, 3).map { |function, share| "#{function} #{percent(share)}" }
            "#{row["target"]}, #{row["operation"]}: #{time}most time itself: #{shares.join(", ")}."
          end

          def fill(document)
            document.section("Time") { |section| add_times(section) }
            profiles.each do |row|
              document.section("#{row["target"]}, #{row["operation"]}") { |section| add_profile(section, row) }
            end
            pairs.each do |before, after|
              document.section("#{label(after)} against #{label(before)}") do |section|
                add_difference(section, before, after)
              end
            end
          end

          private

          def profiles = rows("profiles")

          def first_of(fact, otherwise) = cells.first&.fetch(fact) || otherwise

          def watched?(row) = Engine::Outcome.measured?(row) && row["folded"].any?

          # A raw socket is no target, so it is not compared.
          def raw?(row) = row["text"].match?(/\Araw[_:]/)

          def pairs
            mine = profiles.select { |row| watched?(row) && !raw?(row) }
            found = rows("profile before").map do |before|
              [before.merge("when" => notes("profile before")["started_at"]), mine.first]
            end
            found << [mine[0], mine[1]] if mine.size > 1
            found.select(&:all?)
          end

          def label(row) = row["when"] ? "#{row["target"]} (#{row["when"]})" : row["target"]

          def percent(share) = "#{Report::Format.number(share.estimate * 100, digits: 0)} %"

          # @return [Hash{String => Numeric}] each function's own samples, from all its callers
          def own(row)
            row["folded"].each_with_object(Hash.new(0)) do |(stack, samples), sums|
              sums[stack.scrub.split(";").last.to_s] += samples
            end
          end

          # @return [Array<Array(String, Statistics::Interval)>] functions by the share of the time that they took
          #   themselves
          def top(row, count)
            all = own(row)
            all.max_by(count, &:last).map { |function, samples| [function, share(samples, all.values.sum)] }
          end

          # Wilson's interval of a share (Wilson, JASA 22, 1927). Samples close in time depend on each other, so the
          # true interval is wider.
          def share(own, total)
            share = own.fdiv(total)
            middle = (share + (Z**2 / (2 * total))) / (1 + (Z**2 / total))
            half = Z / (1 + (Z**2 / total)) * Math.sqrt((share * (1 - share) / total) + (Z**2 / (4.0 * total**2)))
            Statistics::Interval.new(share, [middle - half, 0.0].max, [middle + half, 1.0].min)
          end

          def add_times(section)
            section.text("Measured first, without a profiler. The bare socket sends prepared bytes and reads exactly " \
                         "the answer: what is beyond it is the client's.")
            columns = { "target" => :name, "operation" => ->(cell) { cell["operation"] }, "time a call" => :time,
                        "ratio" => :ratio, "beyond the socket" => :beyond, "objects" => :objects }
            section.add(cell_table("Profile: times", cells, columns, labels: 2))
          end

          def beyond(cell)
            socket = cells.find do |other|
              raw?(other["contestant"]) && other["contestant"]["servers"] == cell["contestant"]["servers"]
            end
            return "" if socket.nil? || socket == cell || !measured?(cell) || !measured?(socket)
            mine, bare = [cell, socket].map { |one| interval(one["summary"]["ns"], 1e-3) }
            difference = mine.minus(bare)
            Report::Cell.interval(difference, unit: "us", muted: difference.cover?(0))
          end

          def add_profile(section, row)
            return section.text("No profile: #{Engine::Outcome.words(row)}.") unless Engine::Outcome.measured?(row)
            return section.text("No samples fell into the calls; `--seconds` watches longer.") unless watched?(row)
            note = "In the function itself, without what it calls; #{samples_words(row)}."
            section.add(columns_table("Profile: self time of #{row["target"]}", top(row, TOP), TIMES, note:))
            section.code(row["file"], title: opened_with(row)) if row["file"]
          end

          def samples_words(row)
            samples, calls = [own(row).values.sum, row["calls"]].map { |count| Report::Format.number(count) }
            "#{samples} samples of #{row["profiler"]}, #{calls} calls in #{notes("profiles")["seconds"]} s"
          end

          def opened_with(row)
            return "For speedscope (speedscope.app):" unless row["profiler"] == "vernier"
            "For the Firefox profiler (profiler.firefox.com, or `profile-viewer`):"
          end

          def add_difference(section, before, after)
            return section.text("One of the two has no samples.") unless [before, after].all? { |row| watched?(row) }
            shares = [before, after].map do |row|
              own(row).then { |all| all.transform_values { |n| n.fdiv(all.values.sum) } }
            end
            names = shares.flat_map(&:keys).uniq
            names = names.max_by(TOP) { |name| (shares[1].fetch(name, 0.0) - shares[0].fetch(name, 0.0)).abs }
            rows = names.map do |name|
              one, other = shares.map { |all| all.fetch(name, 0.0) * 100 }
              [name, *[one, other, other - one].map { |share| figure(share, "%", digits: 1) }]
            end
            section.table("Profile: #{label(after)} against #{label(before)}", command:, rows:,
                          header: ["function", label(before), label(after), "change"],
                          note: "Shares of the time in the function itself, not times; the largest changes first.")
          end
        end
      end
    end
  end
end
