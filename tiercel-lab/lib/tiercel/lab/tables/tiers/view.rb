# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Tiers
        # Shows near and far hits, reads by the share of near hits, and how long another machine reads stale values.
        class View < Tables::View
          quick "Quick: fewer shares, distances, changes and repeats."

          COLUMNS = { "tier" => :part, "a read" => :time, "by the near tier alone" => :ratio, "" => :verdict,
                      "objects" => :objects }.freeze
          PARTS = { "near-alone" => "the near tier alone", "near-hit" => "the stack, all hits near",
                    "far-hit" => "the stack, all hits far, filled near", "far-alone" => "the last tier alone" }.freeze
          QUANTILES = { "median" => 0.5, "p90" => 0.9, "p99" => 0.99, "longest" => 1.0 }.to_h do |name, share|
            [name, [->(age) { age.quantile(share) || "longer" }, "ms"]]
          end
          AGES = { "store" => :store, "beside" => :beside, "changes" => ->(age) { Report::Cell.count(age.changes) },
                   **QUANTILES, "not seen" => ->(age) { Report::Cell.count(age.unseen) },
                   "looked every" => :looked }.freeze
          BESIDE = "With a shared near tier, the busy process listens for its machine, and another process watches. " \
                   "So ages say how long the machine kept stale copies, and no read waits for the interpreter. *An " \
                   "idle process listens*: the machine has one more process, which neither reads nor computes. Its " \
                   "listener does not wait for the interpreter of the busy process."
          BURSTS = { "store" => "store", "writes" => ->(row) { Report::Cell.count(row["writes"]) },
                     "written" => ->(row) { a_second(row["writes_a_second"]) },
                     "heard of" => ->(row) { Report::Cell.count(row["heard"]) },
                     "heard" => ->(row) { row["heard_a_second"] ? a_second(row["heard_a_second"]) : "none in time" } }
                   .freeze

          def title = "Tiers"

          def subtitle = facts_in_words("shares") do |facts|
            "#{facts["stores"].join("; ")}: near and far, by share and distance, and as another machine sees it"
          end

          def sentence
            words = [*hit_words, *age_words]
            words.empty? ? "Nothing could be measured." : "#{words.join(" ")}"
          end

          def fill(document)
            document.section("Hits") { |section| hits(section) } if cells.any?
            document.section("Reads by share and distance") { |section| shares(section) } if rows("shares").any?
            document.section("What another machine sees") { |section| machines(section) } if rows("staleness").any?
          end

          private

          # --- hits ---

          def stack(cell) = cell["contestant"]["text"][/tiercel:([^#]*)/, 1].gsub(/[?&]ttl=[^& ]*/, "")

          # All cells of a comparison belong to one stack. Only cells with tiers have its text.
          def comparisons = cells.group_by { |cell| cell["comparison"] }.values

          def stack_of(group) = group.map { |cell| stack(cell) }.max_by { |text| text.count(" ") }

          def part(cell) = PARTS.fetch(name(cell))

          def hit_words
            comparisons.filter_map do |group|
              near = group.find { |cell| name(cell) == "near-hit" }
              next unless near && measured?(near) && near["summary"]["ratio"]
              "A near hit of #{stack_of(group)} #{near_words(near)} (#{title_of(near["value"])})."
            end.first(2)
          end

          # Uses the verdict, because two figures side by side would suggest a difference.
          def near_words(near)
            case near["summary"]["verdict"]
            when "same" then "costs the same as one of the near tier alone"
            when "faster", "slower"
              times = Report::Format.with_unit(interval(near["summary"]["ratio"]).estimate, "x")
              "costs #{times} of the near tier alone"
            else "cannot be told from one of the near tier alone"
            end
          end

          def hits(section)
            section.text("The same read in turn in one process: from the near tier alone; from the stack with all " \
                         "hits near (copies live an hour); from the stack with all hits far (copies expire at once, " \
                         "so each read goes to the last tier and fills the near one); and from the last tier alone.")
            comparisons.each do |group|
              title = "Tiers: hits, #{stack_of(group)}, #{group.first["value"]}"
              section.add(cell_table(title, group, COLUMNS, label: method(:part)))
            end
          end

          # --- shares ---

          def shares(section)
            section.text("Reads of #{Trial::VALUE_BYTES} B in one process: the mean of a call, by the wall clock. " \
                         "Names with near copies are mixed with names that no process of this machine has read " \
                         "before. A delay proxy adds the distance; the round trip is measured through the proxy.")
            rows("shares").group_by { |row| row["store"] }.each do |store, group|
              section.add(share_table(store, group))
              chart = share_chart(store, group) and section.add(chart)
            end
          end

          def share_list = notes("shares")["shares"]

          def percent(share) = "#{Report::Format.number((share * 100).round)} %"

          def share_table(store, group)
            shares = share_list.to_h { |share| ["#{percent(share)} near", ->(row) { row["shares"][share.to_s].to_a }] }
            columns = { **shares, "last tier alone" => ->(row) { row["alone"] } }
                      .transform_values { |us| [->(row) { spread(us.call(row)) }, "us"] }
            raw = ->(row) { shares.to_h { |name, us| ["#{round_trip(row)}, #{name}", us.call(row)] } }
            columns_table("Tiers: a read by the share of near hits, #{store}", group,
                          { "round trip" => :round_trip, **columns }, labels: 1, raw:)
          end

          def round_trip(row)
            return "on this machine" unless row["measured_ms"]
            "#{Report::Format.number(row["measured_ms"])} ms"
          end

          def share_chart(store, group)
            kept = group.select { |row| Engine::Outcome.measured?(row) }
            return if kept.empty?
            series = kept.to_h do |row|
              [round_trip(row), share_list.filter_map do |share|
                figures = row["shares"][share.to_s] and [share * 100, Statistics.median(figures)]
              end]
            end
            line_chart("Tiers: mean read by near hits, #{store}", series, x: "near hits, %", y: "us", y_scale: :log)
          end

          # --- another machine ---

          def ages = @ages ||= rows("staleness").map { |row| Ages.new(row) }

          def age_words
            told = ages.select(&:measured?)
            told = told.reject { |age| age.store.end_with?("last tier alone") }.group_by(&:store)
            told.map do |store, group|
              age = group.first
              "Another machine sees a change of #{store} after #{milliseconds(age.quantile(0.5))} (median), " \
                "#{milliseconds(age.quantile(1.0))} at most."
            end
          end

          def milliseconds(figure) = figure ? Report::Format.with_unit(figure, "ms") : "no time that was waited"

          def machines(section)
            section.text("Two processes have near tiers of their own on one last tier. One process changes each " \
                         "name once, at random moments: half of the changes are writes, half are deletes. The other " \
                         "process has copies and reads all names again and again. Ages count from the return of a " \
                         "change to the first read that saw it. *Beside*: threads that compute in the reading " \
                         "process. They delay its reads too (*looked every*: median, longest).")
            section.text(BESIDE) if ages.any?(&:looked_beside?)
            section.add(age_table)
            chart = age_chart and section.add(chart)
            section.add(burst_table) if rows("bursts").any?
          end

          def age_table
            columns_table("Tiers: until another machine sees a change", ages, AGES, labels: 2, unit: "ms",
                          raw: ->(age) { { age.label => age.seen_ms } })
          end

          def looked(age)
            median, _p99, longest = age.looks_ms
            return "" unless median
            "#{Report::Format.with_unit(median, "ms")}, #{Report::Format.with_unit(longest, "ms")}"
          end

          def age_chart
            told = ages.select { |age| age.measured? && age.seen_ms.any? }
            return if told.empty?
            line_chart("Tiers: changes that another machine has seen", told.to_h { |age| [age.label, age.curve] },
                       x: "ms", y: "%")
          end

          def burst_table
            note = "Copies live an hour, so only invalidation messages make a write visible. Heard: writes a second, " \
                   "until the last of them was seen."
            columns_table("Tiers: writes that another machine hears of", rows("bursts"), BURSTS, labels: 2, note:)
          end

          def a_second(count) = Report::Cell.number(count, unit: "/s", digits: 0)
        end
      end
    end
  end
end
