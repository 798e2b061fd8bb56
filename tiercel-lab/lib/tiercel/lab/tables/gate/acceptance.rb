# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Gate
        # Accepts intended regressions. A commit of the change says `Accept-Regression: CELL`, optionally with a reason
        # after a dash. After the merge the commit belongs to the base, so the line can stay.
        class Acceptance
          TRAILER = "Accept-Regression"

          # @param texts [Array<String>] cells, with or without reasons
          def initialize(texts)
            @texts = texts
          end

          # @param rows [Array<Hash{String => Object}>] see {Judgement}
          # @return [Array<Hash{String => Object}>] the rows; an accepted one has "accepted"
          def apply(rows)
            rows.map do |row|
              accepted = @texts.find { |text| of?(text, row["cell"]) }
              next row unless accepted && row["verdict"] == Judgement::REGRESSED
              row.merge("verdict" => Judgement::ACCEPTED, "reason" => accepted)
            end
          end

          private

          def of?(text, cell) = text == cell || text.match?(/\A#{Regexp.escape(cell)}\s+(-|--|\u2013|\u2014)\s/)
        end
      end
    end
  end
end
