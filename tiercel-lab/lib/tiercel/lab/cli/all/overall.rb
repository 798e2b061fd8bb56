# frozen_string_literal: true

require_relative "../progress"

module Tiercel
  module Lab
    module CLI
      module All
        # Shows the progress of all tables, computed from each table's own progress lines.
        class Overall
          SHARE = /\A(\d+) %, .*?: (.*)\z/

          # @param err [IO]
          # @param expected [Hash{Entry => Float}] seconds
          def initialize(err, expected)
            @expected = expected
            @progress = Progress.new(err, expected_seconds: [expected.each_value.sum, 1.0].max)
            @number = 0
          end

          # @param entry [Entry] the table that begins
          # @return [void]
          def begin(entry)
            @entry = entry
            @number += 1
            @within = 0.0
            advance(0.0, "begins")
          end

          # @param line [String] a line of the table's progress
          # @return [void]
          def line(line)
            percent, what = line.match(SHARE)&.captures
            advance(percent ? (percent.to_i / 100.0).clamp(@within, 1.0) : @within, what || line)
          end

          # @param part [Part] the table that has ended
          # @return [void]
          def end(part)
            advance(1.0, "ends") if @entry
            @entry = nil
            took = Report::Format.minutes(part.seconds)
            @progress.say("#{part.name}: #{[part.state, part.note].compact.join(", ")}; took #{took}")
          end

          # @return [void]
          def clear = @progress.clear

          private

          def advance(share, what)
            @progress.advance((share - @within) * @expected.fetch(@entry, 0.0),
                              "#{@number}/#{@expected.size} #{@entry.name}: #{what}")
            @within = share
          end
        end
      end
    end
  end
end
