# frozen_string_literal: true

require_relative "../view"
require_relative "crowd"
require_relative "design"

module Tiercel
  module Lab
    module Tables
      module Herd
        # How often the block ran, how long callers took, and the load on the origin over time.
        class View < Tables::View
          HEADER = ["store", "key", "blocks run", "at once", "median caller", "slowest caller", "stale answers",
                    "running at once, over time"].freeze
          # Steps of the time axis.
          STEPS = 24
          # Loads from one block to all callers, in a line of text; none is IDLE.
          HEIGHTS = "▁▂▃▄▅▆▇█".chars.freeze
          IDLE = "·"

          def title = "Everybody asks at once"

          def subtitle
            facts = notes("herd")
            return "Interrupted before anything was measured" if facts.empty?
            "#{crowd_words} fetch one key at the same moment; the block takes #{number(facts["block_ms"])} ms; " \
              "#{facts["rounds"]} #{facts["rounds"] == 1 ? "round" : "rounds"}"
          end

          # Processes are where the kernel puts them, see {Trial}.
          def environment = super.merge("Pinning" => "not pinned")

          def quick_words = quick? ? ["Quick: fewer stores, callers and rounds."] : []

          # Where callers come late, others have an answer for them, and fewer blocks run.
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
              section.text(explanation)
              section.add(table)
              measured.group_by(&:condition).each { |condition, group| section.add(chart(condition, group)) }
            end
          end

          private

          def crowds
            @crowds ||= rows("herd").group_by { |row| row.values_at("store", "condition") }
                                    .map { |(store, condition), group| Crowd.new(store:, condition:, rows: group) }
                                    .sort_by.with_index { |crowd, index| [order(crowd), index] }
          end

          # As they were asked for, and in the order of their conditions whatever was drawn first.
          def order(crowd)
            [rows("herd").index { |row| row["store"] == crowd.store }, conditions.index(crowd.condition) || 0]
          end

          def conditions = [*Design::RAILS, *Design::OURS].map(&:name)

          def measured = crowds.reject(&:failed)

          def callers = notes("herd").values_at("processes", "threads").reduce(:*)

          def crowd_words
            processes, threads = notes("herd").values_at("processes", "threads")
            "#{number(callers)} callers (#{processes} #{processes == 1 ? "process" : "processes"} x #{threads} " \
              "#{threads == 1 ? "thread" : "threads"})"
          end

          def number(figure) = Report::Format.number(figure)

          # How often, of all rounds of all stores; a store in each process is told apart where its counts are others.
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
            "*Blocks run* of #{number(callers)} callers, *at once* how many of them at the same time: the load on " \
              "what the block asks. *Median* and *slowest caller*: how long their fetches took; in brackets the " \
              "least and the most of the rounds. A *cold* key was never written; the value of an *ended* one ended " \
              "up to #{Design::LEAD_SECONDS} s before, and may be given out (*stale answers*) for " \
              "#{Design::WINDOW_SECONDS} s. The last column has #{STEPS} steps of #{number(step)} ms."
          end

          def table
            table = Report::Table.new("Herd: blocks and callers", header: HEADER, command:, note: own_note)
            crowds.each { |crowd| add(table, crowd) }
            table
          end

          def own_note
            own = measured.select(&:own?).map(&:store).uniq
            "One in each process, so that each of them has to run the block: #{own.join(", ")}" if own.any?
          end

          def add(table, crowd)
            label = [crowd.store, crowd.condition]
            return table.row(*label, missing(crowd.failed), *[""] * (HEADER.size - 3)) if crowd.failed
            table.row(*label, counted(crowd.runs), counted(crowd.peaks), milliseconds(crowd.medians),
                      milliseconds(crowd.slowest), counted(crowd.figures("stale")), line(crowd))
            table.raw("#{label.join(", ")}: callers", crowd.callers_ms, unit: "ms")
          end

          # The median of the rounds, the least and the most.
          def counted(figures)
            return Report::Cell.count(figures.first) if figures.uniq.one?
            Report::Cell.interval(spread(figures), digits: 0)
          end

          def milliseconds(figures)
            return Report::Cell.number(figures.first, unit: "ms") if figures.one?
            Report::Cell.interval(spread(figures), unit: "ms")
          end

          def spread(figures) = Statistics::Interval.new(Statistics.median(figures.map(&:to_f)), *figures.minmax)

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
            title = "Herd: blocks running at once, #{condition}"
            chart = Report::Charts::LineChart.new(title, x: "ms", y: "blocks", command:)
            group.each { |crowd| chart.series(crowd.store, instants.map { |at| [at, crowd.load(at)] }) }
            chart
          end
        end
      end
    end
  end
end
