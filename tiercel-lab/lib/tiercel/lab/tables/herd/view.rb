# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Herd
        # Shows how often the block ran, how long callers waited, and the load on the origin over time.
        class View < Tables::View
          quick "Quick: fewer stores, callers and rounds."

          COLUMNS = { "store" => :store, "key" => :condition, "blocks run" => ->(crowd) { counted(crowd.runs) },
                      "at once" => ->(crowd) { counted(crowd.peaks) },
                      "median caller" => [->(crowd) { spread(crowd.medians) }, "ms"],
                      "slowest caller" => [->(crowd) { spread(crowd.slowest) }, "ms"],
                      "stale answers" => ->(crowd) { counted(crowd.figures("stale")) },
                      "running at once, over time" => :line }.freeze
          # Steps of the time axis.
          STEPS = 24
          # Characters for loads from one block to all callers. IDLE stands for no load.
          HEIGHTS = "▁▂▃▄▅▆▇█".chars.freeze
          IDLE = "·"

          def title = "Everybody asks at once"

          def subtitle = facts_in_words("herd") do |facts|
            "#{crowd_words} fetch one key at the same moment; the block takes #{number(facts["block_ms"])} ms; " \
              "#{several(facts["rounds"], "round")}"
          end

          # The kernel places the processes, see {Trial}.
          def environment = super.merge("Pinning" => "not pinned")

          # Late callers find an answer, so fewer blocks run.
          def warnings
            late = measured.flat_map { |crowd| crowd.figures("late_ms") }.max.to_f
            return super unless late > notes("herd")["block_ms"].to_f / 2
            [*super, "The machine was busy: a caller came #{number(late)} ms late."]
          end

          def sentence
            return "Nothing could be measured." if measured.empty?
            by_words = measured.group_by(&:words)
            order = [*Design::RAILS, *Design::OURS].map(&:words) & by_words.keys
            parts = order.map { |words| counts(words, by_words[words]) }
            "#{crowd_words}, all at once, ran the block #{parts.join("; ")}."
          end

          def fill(document)
            return if crowds.empty?
            document.section("Blocks and callers") do |section|
              section.text(explanation).add(table)
              measured.group_by(&:condition).each { |condition, group| section.add(chart(condition, group)) }
            end
          end

          private

          def crowds
            @crowds ||= rows("herd").group_by { |row| row.values_at("store", "condition") }
                                    .map { |(store, condition), group| Crowd.new(store:, condition:, rows: group) }
                                    .sort_by.with_index { |crowd, index| [order(crowd), index] }
          end

          # Sorts by the order in which the user named the stores, then by condition.
          def order(crowd)
            [rows("herd").index { |row| row["store"] == crowd.store }, conditions.index(crowd.condition) || 0]
          end

          def conditions = [*Design::RAILS, *Design::OURS].map(&:name)

          def measured = crowds.reject(&:failed)

          def callers = notes("herd").values_at("processes", "threads").reduce(:*)

          def crowd_words
            processes, threads = notes("herd").values_at("processes", "threads")
            "#{number(callers)} callers (#{several(processes, "process", "processes")} x #{several(threads, "thread")})"
          end

          def number(figure) = Report::Format.number(figure)

          # How often the block ran, over all rounds and stores. The sentence names stores in each process separately if
          # their counts differ.
          def counts(words, group)
            own, shared = group.partition(&:own?)
            return "#{times(own)} #{words}" if shared.empty?
            least, most = shared.flat_map(&:runs).minmax
            apart = own.reject { |crowd| crowd.runs.all? { |count| count.between?(least, most) } }
            "#{times(shared)} #{words}#{" (#{apart.map { |crowd| own_words(crowd) }.join(", ")})" if apart.any?}"
          end

          def own_words(crowd)
            each = crowd.runs.uniq == [notes("herd")["processes"]]
            "#{each ? "once in each process" : times([crowd])} with #{crowd.store}"
          end

          def times(group)
            least, most = group.flat_map(&:runs).minmax
            return least == 1 ? "once" : "#{number(least)} times" if least == most
            "#{number(least)} to #{number(most)} times"
          end

          def explanation
            "*Blocks run*: blocks that ran for #{number(callers)} callers. *At once*: blocks that ran concurrently, " \
              "which is the load on the origin. *Median* and *slowest caller*: the duration of a fetch, with the " \
              "least and the most of the rounds in brackets. A *cold* key was never written. The value of an " \
              "*ended* key expired up to #{Design::LEAD_SECONDS} s before; a store may return it (*stale answers*) " \
              "for #{Design::WINDOW_SECONDS} s. The last column has #{STEPS} steps of #{number(step)} ms."
          end

          def table
            raw = ->(crowd) { { "#{crowd.store}, #{crowd.condition}: callers" => crowd.callers_ms } }
            columns_table("Herd: blocks and callers", crowds, COLUMNS, labels: 2, note: own_note, raw:, unit: "ms")
          end

          def own_note
            own = measured.select(&:own?).map(&:store).uniq
            "One in each process, so that each of them has to run the block: #{own.join(", ")}" if own.any?
          end

          # The median of the rounds, with the least and the most.
          def counted(figures)
            figures.uniq.one? ? Report::Cell.count(figures.first) : figure(spread(figures), digits: 0)
          end

          # @return [Float] ms
          def step = @step ||= [measured.map(&:last_end).max.to_f, notes("herd")["block_ms"]].max / STEPS

          def instants = Array.new(STEPS + 1) { |index| (index * step).round(2) }

          def line(crowd)
            instants.each_cons(2).map { |from, to|
              load = crowd.load((from + to) / 2)
              load.zero? ? IDLE : HEIGHTS[((HEIGHTS.size - 1) * load / callers).ceil.clamp(0, HEIGHTS.size - 1)]
            }.join
          end

          def chart(condition, group)
            series = group.to_h { |crowd| [crowd.store, instants.map { |at| [at, crowd.load(at)] }] }
            line_chart("Herd: blocks running at once, #{condition}", series, x: "ms", y: "blocks")
          end
        end
      end
    end
  end
end
