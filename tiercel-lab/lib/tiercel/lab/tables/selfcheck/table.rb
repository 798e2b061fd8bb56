# frozen_string_literal: true

require_relative "../table"

module Tiercel
  module Lab
    module Tables
      # Whether the lab's verdicts can be believed here: the same work is not told apart, 5 % more of it is found. Each
      # recording measures known work three times (as the baseline, once more, and as the null arm), and 5 % more of it.
      module Selfcheck
        class Table < Tables::Table
          called "selfcheck", "Whether verdicts can be believed here: known work, 20 times."
          example "selfcheck", "selfcheck --quick", "selfcheck --recordings 40"
          takes :quick, :seed, :budget, :processes

          RECORDINGS = 20
          # Too few to decide; shows that it works.
          QUICK_RECORDINGS = 4
          STEPS = 2_000
          KINDS = { "same" => "again=steps:#{STEPS}", "planted" => "steps:#{STEPS * 21 / 20}" }.freeze

          def options(parser)
            parser.on("--recordings N", Integer, "fresh ones (#{RECORDINGS}, quick: #{QUICK_RECORDINGS})") do |count|
              raise UsageError, "--recordings #{count}: expected 1 or more" unless count.positive?
              @recordings = count
            end
          end

          # Quick means fewer recordings: they are what is checked.
          def protocol = Engine::Protocol::FULL

          def expected_seconds = recordings * Engine::Measurement.expected_seconds([comparison], protocol)

          def plan_in_words = "#{recordings} recordings of the same work, and of 5 % more, about " \
                              "#{Report::Format.minutes(expected_seconds)} if six processes decide."

          def take(_comparisons)
            rows = []
            run.start(protocol)
            run.watch(expected_seconds) do |progress|
              recordings.times { |index| rows.concat(record(index, progress)) }
            end
            run.table("selfcheck", rows, threshold: Engine::Protocol::MARGINS.fetch(:process), asked: recordings)
          end

          def exit_code
            codes = { "holds" => :ok, "fails" => :does_not_hold, "undecided" => :undecided }
            CODES.fetch(codes.fetch(View.new(results, command: "").state))
          end

          private

          def recordings = @recordings || (settings.quick ? QUICK_RECORDINGS : RECORDINGS)

          def comparison
            Engine::Comparison.of(value: Values.fetch("string-100b"), operation: Operations.fetch("read"),
                                  contestants: parse_all(["steps:#{STEPS}", *KINDS.values]))
          end

          # Fresh workers; another order of everything by another seed.
          def record(index, progress)
            measurement = Engine::Measurement.new([comparison], protocol: settings.bounded(protocol), progress:,
                                                                seed: settings.seed + index)
            cells = measurement.run
            KINDS.map do |kind, text|
              cell = cells.find { |one| one.arm.row? && one.arm.contestant.text == text }
              { "recording" => index, "kind" => kind }.merge(found(cell))
            end
          end

          def found(cell)
            unless cell.summary
              return { "verdict" => "cannot run", "processes" => 0, "ratio" => nil, "reason" => cell.reason }
            end
            { "verdict" => cell.summary.verdict.to_s, "processes" => cell.block_ns.size,
              "ratio" => cell.summary.ratio.record }
          end
        end

        class View < Tables::View
          # Of 20 recordings with planted work so many are to be found: 19, 95 %.
          FOUND_SHARE = 0.95
          # Fewer decide nothing.
          LEAST_RECORDINGS = 20

          def title = "Selfcheck: are the lab's verdicts to be believed here?"

          def subtitle =
            "#{super}; a difference counts beyond #{Report::Format.percent(margin_of_all)}, fixed beforehand"

          # @return [String] "holds", "fails", or "undecided" with too few recordings
          def state
            return "fails" if wrong.any? || overlooked.any? || kind("planted").size - found > allowed_misses
            %w[same planted].all? { |name| kind(name).size >= LEAST_RECORDINGS } ? "holds" : "undecided"
          end

          # Also for {Musts::Target}.
          def sentence
            "The same work was called different in #{wrong.size} of #{kind("same").size} recordings; 5 % more was " \
              "found in #{found} of #{kind("planted").size} and called the same in #{overlooked.size}."
          end

          def fill(document)
            document.section("Verdicts") { |section| section.add(counts).add(plot) }
          end

          private

          def margin_of_all = notes("selfcheck").fetch("threshold", 0)

          def kind(name) = rows("selfcheck").select { |row| row["kind"] == name }

          def wrong = kind("same").select { |row| %w[faster slower].include?(row["verdict"]) }

          def overlooked = kind("planted").select { |row| %w[faster same].include?(row["verdict"]) }

          def found = kind("planted").count { |row| row["verdict"] == "slower" }

          def allowed_misses = ([kind("planted").size, LEAST_RECORDINGS].max * (1 - FOUND_SHARE)).round

          def counts
            header = ["work", "recordings", "slower", "faster", "same", "cannot tell"]
            Report::Table.new("Selfcheck: verdicts", header:, command:).tap do |table|
              { "same" => "the same once more", "planted" => "5 % more" }.each do |name, words|
                verdicts = kind(name).map { |row| row["verdict"] }
                table.row(words, verdicts.size, *%w[slower faster same cannot_tell].map { |word| verdicts.count(word) })
              end
            end
          end

          def plot
            chart = Report::Charts::ForestPlot.new("Selfcheck: every recording", baseline: "the same work",
                                                   floor: band(margin_of_all))
            rows("selfcheck").select { |row| row["ratio"] }.each do |row|
              chart.row("#{row["kind"]} #{row["recording"] + 1}", interval(row["ratio"]), row["verdict"].to_sym)
            end
            chart
          end
        end
      end

      add Selfcheck::Table
    end
  end
end
