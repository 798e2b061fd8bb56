# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Selfcheck
        # Shows how often each kind of known work had the right verdict.
        class View < Tables::View
          # Fewer recordings decide nothing.
          LEAST_RECORDINGS = 20
          VERDICTS = %w[slower uneven faster same cannot_tell].freeze

          def title = "Selfcheck: are the lab's verdicts to be believed here?"

          def subtitle =
            "#{super}; a difference counts beyond #{Report::Format.percent(margin_of_all)}, fixed beforehand"

          # @return [String] "holds", "fails", or "undecided" with too few recordings
          def state
            return "fails" if kinds.any? { |kind| fails?(kind) }
            kinds.any? && kinds.all? { |kind| of(kind).size >= LEAST_RECORDINGS } ? "holds" : "undecided"
          end

          # {Musts::Target} uses the sentence too.
          def sentence
            return "Nothing could be measured." if kinds.empty?
            words = kinds.map do |kind|
              next "the same work was called different in #{wrong(kind).size} of #{of(kind).size} comparisons" if
                kind.name == "same"
              "#{kind.words}: found in #{right(kind).size} of #{of(kind).size}, called " \
                "#{kind.wrong.join(" or ")} in #{wrong(kind).size}"
            end
            "#{words.join("; ").sub(/\A./, &:upcase)}."
          end

          def fill(document)
            document.section("Verdicts") { |section| section.text(made).add(counts).add(plot) }
          end

          private

          def made
            asked, seconds, busy = notes("selfcheck").values_at("asked", "seconds", "busy")
            beside = " beside #{busy} busy loop#{"s" if busy > 1}" if busy.to_i.positive?
            each = seconds && asked ? ", #{(seconds.fdiv(asked)).round} s each" : ""
            "#{asked || rows("selfcheck").size} recordings#{beside}#{each}#{process_words}."
          end

          # Results of older versions lack the number of processes.
          def process_words
            counts = rows("selfcheck").filter_map { |row| row["processes"] }
            counts.empty? ? "" : ", #{counts.sum.fdiv(counts.size).round} processes a comparison on average"
          end

          def margin_of_all = notes("selfcheck").fetch("threshold", 0)

          def kinds = @kinds ||= KINDS.values.select { |kind| of(kind).any? }

          def of(kind) = rows("selfcheck").select { |row| row["kind"] == kind.name }

          def right(kind) = of(kind).select { |row| kind.right.include?(row["verdict"]) }

          def wrong(kind) = of(kind).select { |row| kind.wrong.include?(row["verdict"]) }

          # Fewer than twenty recordings may miss as often as twenty.
          def fails?(kind)
            allowed = ([of(kind).size, LEAST_RECORDINGS].max * (1.0 - kind.share)).round
            wrong(kind).any? || of(kind).size - right(kind).size > allowed
          end

          def counts
            counts = VERDICTS.to_h do |word|
              [word.tr("_", " "), ->(kind) { of(kind).count { |row| row["verdict"] == word } }]
            end
            columns_table("Selfcheck: verdicts", kinds,
                          { "work" => :words, "comparisons" => ->(kind) { of(kind).size }, **counts,
                            "cost beyond the baseline" => :extra,
                            "in truth" => ->(kind) { kind.extra_ns && ns(kind.extra_ns) } })
          end

          # The median of the recordings, computed from the means.
          def extra(kind)
            found = of(kind).filter_map { |row| row["extra_ns"] }
            found.empty? ? "" : ns(Statistics.median(found))
          end

          def ns(value) = Report::Cell.number(value.round, unit: "ns", digits: 0)

          def plot
            chart = Report::Charts::ForestPlot.new("Selfcheck: every recording", baseline: "the same work",
                                                   margin: band(margin_of_all))
            rows("selfcheck").select { |row| row["ratio"] }.each do |row|
              chart.row("#{row["kind"]} #{row["recording"] + 1}", interval(row["ratio"]), row["verdict"].to_sym)
            end
            chart
          end
        end
      end
    end
  end
end
