# frozen_string_literal: true

require_relative "../documents/selfcheck"
require_relative "../selfcheck/recording"
require_relative "../table_command"

module Tiercel
  module Lab
    module Commands
      # Whether the lab's verdicts can be believed here: the same work is not told apart, 5 % more of it is found.
      class SelfCheck < TableCommand
        called "selfcheck", "Whether verdicts can be believed here: 20 recordings of the same work, and of 5 % more."
        example "selfcheck", "selfcheck --quick", "selfcheck --recordings 40"

        RECORDINGS = 20
        # Too few to decide; shows that it works.
        QUICK_RECORDINGS = 4

        def self.document(results, command:) = Documents::Selfcheck.new(results, command:).build

        def options(parser)
          parser.on("--recordings N", Integer, "fresh ones (#{RECORDINGS}, quick: #{QUICK_RECORDINGS})") do |count|
            raise UsageError, "--recordings #{count}: expected 1 or more" unless count.positive?
            @recordings = count
          end
        end

        # Quick means fewer recordings: they are what is checked.
        def protocol = Protocol::FULL

        def recordings = @recordings || (settings.quick ? QUICK_RECORDINGS : RECORDINGS)

        def expected_seconds = recordings * of_one

        def take(_comparisons)
          rows = []
          session.start(protocol)
          session.watch(expected_seconds) do |progress|
            recordings.times { |index| rows.concat(record(index, progress)) }
          end
          session.recorder.table("selfcheck", rows, threshold: Lab::Selfcheck::Recording::MARGIN, asked: recordings)
        end

        def exit_code
          codes = { "holds" => ExitCodes::OK, "fails" => ExitCodes::DOES_NOT_HOLD }
          codes.fetch(Documents::Selfcheck.new(results, command: "").state, ExitCodes::UNDECIDED)
        end

        private

        def of_one = @of_one ||= Session.expected_seconds([Lab::Selfcheck::Recording.comparison], protocol)

        def plan_in_words
          "#{recordings} recordings of the same work, and of 5 % more, about " \
          "#{Terminal::Figures.duration(expected_seconds)}."
        end

        # Fresh workers; another order of everything by another seed.
        def record(index, progress)
          measurement = Measurement.new([Lab::Selfcheck::Recording.comparison], protocol:, progress:,
                                        seed: settings.seed + index)
          Lab::Selfcheck::Recording.rows(measurement.run, index)
        end
      end

      add SelfCheck
    end
  end
end
