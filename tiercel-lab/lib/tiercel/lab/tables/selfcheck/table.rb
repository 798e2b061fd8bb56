# frozen_string_literal: true

require_relative "../../engine/stopwatch"
require_relative "../table"
require_relative "kinds"
require_relative "view"

module Tiercel
  module Lab
    module Tables
      # Whether the lab's verdicts can be believed here: known work, measured as any store is.
      module Selfcheck
        class Table < Tables::Table
          called "selfcheck", "Whether verdicts can be believed here: known work, 20 times."
          example "selfcheck", "selfcheck --quick", "selfcheck --recordings 40", "selfcheck --kind pause,kept",
                  "selfcheck --busy 1 --kind same,twenty"
          takes :quick, :seed, :budget, :processes

          RECORDINGS = 20
          FORMS = { "full" => Engine::Protocol::FULL, "quick" => Engine::Protocol::QUICK }.freeze
          # Too few to decide; shows that it works.
          QUICK_RECORDINGS = 4

          def options(parser)
            parser.on("--recordings N", Integer, "fresh ones (#{RECORDINGS}, quick: #{QUICK_RECORDINGS})") do |count|
              raise UsageError, "--recordings #{count}: expected 1 or more" unless count.positive?
              @recordings = count
            end
            parser.on("--busy N", Integer, "busy loops beside it (0)") { |count| @busy = count }
            parser.on("--protocol FORM", FORMS, "whose verdicts: #{FORMS.keys.join(", ")} (full)") do |protocol|
              @protocol = protocol
            end
            parser.on("--kind A,B", Array, "of #{KINDS.keys.join(", ")} (all)") do |names|
              unknown = names - KINDS.keys
              raise UsageError, Catalogue.unknown("kind", unknown.first, KINDS.keys) if unknown.any?
              @kinds = names
            end
          end

          # Quick means fewer recordings: they are what is checked.
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

          def recordings = @recordings || (settings.quick ? QUICK_RECORDINGS : RECORDINGS)

          def kinds = KINDS.values.select { |kind| (@kinds || KINDS.keys).include?(kind.name) }

          # Beside so many programs that never rest.
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

          # Fresh workers; another order of everything by another seed.
          def record(index, progress)
            measurement = Engine::Measurement.new(comparisons, protocol: settings.bounded(protocol), progress:,
                                                               seed: settings.seed + index)
            measurement.run.reject { |cell| cell.arm.role == :baseline }.map do |cell|
              { "recording" => index, "kind" => kind_of(cell.arm) }.merge(found(cell, measurement.disturbances))
            end
          end

          # A null arm is the same work, too.
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
