# frozen_string_literal: true

require_relative "../../engine/stopwatch"
require_relative "../table"
require_relative "kinds"

module Tiercel
  module Lab
    module Tables
      # Tests the lab's verdicts on this machine: measures known work as it measures stores.
      module Selfcheck
        class Table < Tables::Table
          called "selfcheck", "Tests the lab's verdicts on this machine with known work."
          example "selfcheck", "selfcheck --quick", "selfcheck --recordings 40", "selfcheck --kind pause,kept",
                  "selfcheck --busy 1 --kind same,twenty"
          takes :quick, :seed, :budget, :processes

          RECORDINGS = 20
          FORMS = { "full" => Engine::Protocol::FULL, "quick" => Engine::Protocol::QUICK }.freeze
          # A quick run only shows that the command works; it has too few recordings to decide.
          QUICK_RECORDINGS = 4

          def options(parser)
            fact parser, "--recordings N", "how many (#{RECORDINGS}, quick: #{QUICK_RECORDINGS})", :recordings, :count
            parser.on("--busy N", Integer, "concurrent busy loops (0)") { |count| @busy = count }
            parser.on("--protocol FORM", FORMS, "protocol to test: #{FORMS.keys.join(", ")} (full)") do |protocol|
              @protocol = protocol
            end
            names parser, "--kind", KINDS, :kinds
          end

          # A quick run makes fewer recordings, each by the full protocol.
          def protocol = @protocol || Engine::Protocol::FULL

          def expected_seconds = recordings * Engine::Measurement.expected_seconds(comparisons, protocol)

          def plan_in_words = "#{recordings} recordings of #{kinds.map(&:words).join("; ")}: about " \
                              "#{Report::Format.minutes(expected_seconds)} if six processes decide."

          def take(_comparisons)
            run.start(protocol)
            rows = []
            started = Engine::Stopwatch.seconds
            run.watch(expected_seconds) do |progress|
              beside { recordings.times { |index| rows.concat(record(index, progress)) } }
            end
            run.table("selfcheck", rows, threshold: protocol.margin_for([:process]), asked: recordings,
                                         busy: @busy.to_i, seconds: (Engine::Stopwatch.seconds - started).round)
          end

          def exit_code
            codes = { "holds" => :ok, "fails" => :does_not_hold, "undecided" => :undecided }
            CODES.fetch(codes.fetch(View.new(results, command: "").state))
          end

          private

          def recordings = facts_given[:recordings] || (settings.quick ? QUICK_RECORDINGS : RECORDINGS)

          def kinds = KINDS.slice(*facts_given.fetch(:kinds, KINDS.keys)).values

          # Runs the block while other programs use the processor.
          def beside
            loops = Array.new(@busy.to_i) { Process.spawn(RbConfig.ruby, "-e", "loop {}") }
            yield
          ensure
            loops&.each do |pid|
              Process.kill(:KILL, pid)
              Process.wait(pid)
            end
          end

          # Kinds with one baseline are measured together.
          def comparisons
            kinds.group_by(&:baseline).map do |baseline, group|
              Engine::Comparison.of(value: Values.fetch("string-100b"), operation: Operations.fetch("read"),
                                    contestants: parse_all([baseline, *group.map(&:contestant)]))
            end
          end

          # Each recording has fresh workers and another seed, so another order.
          def record(index, progress)
            measurement = Engine::Measurement.new(comparisons, protocol: settings.bounded(protocol), progress:,
                                                               seed: settings.seed + index)
            measurement.run.reject { |cell| cell.arm.role == :baseline }.map do |cell|
              { "recording" => index, "kind" => kind_of(cell.arm) }.merge(found(cell, measurement.disturbances))
            end
          end

          # A null arm is the kind "same".
          def kind_of(arm)
            arm.role == :null ? "same" : kinds.find { |kind| kind.contestant == arm.contestant.text }.name
          end

          def found(cell, disturbances)
            unless cell.summary
              return { "verdict" => "cannot run", "processes" => 0, "ratio" => nil, "reason" => cell.reason }
            end
            ratio, mean = cell.summary.ratio, cell.summary.mean_ratio
            { "verdict" => cell.summary.verdict.to_s, "processes" => cell.block_ns.size, "ratio" => ratio.record,
              "mean_ratio" => mean.record, "extra_ns" => cell.summary.mean_ns.estimate * (1.0 - (1.0 / mean.estimate)),
              "rounds" => disturbances.size }
          end
        end
      end

      add Selfcheck::Table
    end
  end
end
