# frozen_string_literal: true

module Tiercel::Lab
  module Tables
    # Tests the lab's verdicts on this machine: measures known work as it measures stores.
    module Selfcheck
      # A kind of known work: its words, its contestants, the right verdicts, and the share of recordings that must
      # have a right verdict.
      #
      # @!attribute [r] wrong
      #   @return [Array<String>] verdicts that none may have
      # @!attribute [r] extra_ns
      #   @return [Float, nil] the known extra cost of a call, compared with the baseline
      Kind = Data.define(:name, :words, :baseline, :contestant, :right, :wrong, :share, :extra_ns)

      # A call takes 1.0 to 1.7 times as long as a read of 1 KB by MemoryStore on the same machine.
      STEPS = 400
      WORK = "steps:#{STEPS}".freeze
      # A read allocates objects, so that there is garbage to collect.
      GARBAGE = "steps:100#garbage=4"
      EVERY = 40_000
      PAUSE_MS = 60
      PAUSE_NS = PAUSE_MS * 1e6 / EVERY
      PAUSING = "#{WORK}#every=#{EVERY},pause_ms=#{PAUSE_MS}".freeze

      KINDS = [
        Kind.new("same", "the same once more", WORK, "again=#{WORK}", %w[same cannot_tell],
                 %w[faster slower uneven], 1.0, 0.0),
        Kind.new("planted", "5 % more", WORK, "steps:#{STEPS * 21 / 20}", %w[slower], %w[faster same], 0.9, nil),
        Kind.new("twenty", "20 % more", WORK, "steps:#{STEPS * 12 / 10}", %w[slower], %w[faster same], 0.75, nil),
        Kind.new("pause", "60 ms of work every 40,000 calls", WORK, PAUSING, %w[slower uneven], %w[faster same], 0.9,
                 PAUSE_NS),
        Kind.new("sleep", "60 ms asleep every 40,000 calls", WORK, "#{PAUSING},asleep=true", %w[slower uneven],
                 %w[faster same], 0.9, PAUSE_NS),
        Kind.new("kept", "1.5 million kept objects", GARBAGE, "#{GARBAGE},kept=1500000", %w[slower], %w[faster same],
                 1.0, nil)
      ].to_h { |kind| [kind.name, kind] }.freeze

      class Table < Tables::Table
        called "selfcheck", "Tests the lab's verdicts on this machine with known work."
        example "selfcheck", "selfcheck --quick", "selfcheck --recordings 40", "selfcheck --kind pause,kept",
                "selfcheck --protocol quick"
        takes :quick, :seed, :budget, :processes

        RECORDINGS = 20
        FORMS = { "full" => Engine::Protocol::FULL, "quick" => Engine::Protocol::QUICK }.freeze
        # A quick run only shows that the command works; it has too few recordings to decide.
        QUICK_RECORDINGS = 4

        def options(parser)
          fact parser, "--recordings N", "how many (#{RECORDINGS}, quick: #{QUICK_RECORDINGS})", :recordings, :count
          parser.on("--protocol FORM", FORMS, "protocol to test: #{FORMS.keys.join(", ")} (full)") do |protocol|
            @protocol = protocol
          end
          names parser, "--kind", KINDS, :kinds
        end

        # A quick run makes fewer recordings, each by the full protocol.
        def protocol = @protocol || Engine::Protocol::FULL

        def expected_seconds = recordings * Engine::Measurement.expected_seconds(comparisons, protocol)

        def plan_in_words = "#{recordings} recordings, if six processes decide, of #{kinds.map(&:words).join("; ")}."

        def take(_comparisons)
          run.start(protocol)
          rows = []
          started = Engine::Stopwatch.seconds
          run.watch(expected_seconds) do |progress|
            recordings.times { |index| rows.concat(record(index, progress)) }
          end
          run.table("selfcheck", rows, threshold: protocol.margin_for([:process]), asked: recordings,
                                       seconds: (Engine::Stopwatch.seconds - started).round)
        end

        def exit_code
          codes = { "holds" => :ok, "fails" => :does_not_hold, "undecided" => :undecided }
          CODES.fetch(codes.fetch(View.new(results, command: "").state))
        end

        private

        def recordings = facts_given[:recordings] || (settings.quick ? QUICK_RECORDINGS : RECORDINGS)

        def kinds = KINDS.slice(*facts_given.fetch(:kinds, KINDS.keys)).values

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

        def warnings
          return super if kinds.empty? || state != "undecided"
          [*super, "Fewer than #{LEAST_RECORDINGS} recordings do not decide (exit code 3)."]
        end

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
          document.section("Verdicts") { |section| section.text(made).add(counts) }
        end

        private

        def made
          asked, seconds = notes("selfcheck").values_at("asked", "seconds")
          each = seconds && asked ? ", #{(seconds.fdiv(asked)).round} s each" : ""
          "#{asked || rows("selfcheck").size} recordings#{each}#{process_words}."
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
      end
    end
  end
end
