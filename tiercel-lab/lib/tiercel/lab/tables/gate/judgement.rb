# frozen_string_literal: true

require_relative "../../engine"
require_relative "configuration"

module Tiercel
  module Lab
    module Tables
      module Gate
        # Judges the figures of both sides for one cell: a row for each metric, with a verdict.
        #
        # - "regressed": an exact figure grew, or the time did in two passes
        # - "not confirmed": the time grew in the first pass, and did not in the second
        # - "accepted": it regressed, and somebody has said that it may
        # - "improved", "same": within the margin; "new": only the head has the cell
        # - "cannot tell": it could not be measured, or the interval reaches beyond the margin
        # - "wrong": the head's cell returned something wrong, or raised where the base's did not
        module Judgement
          REGRESSED, NOT_CONFIRMED, ACCEPTED = "regressed", "not confirmed", "accepted"
          IMPROVED, SAME, NEW = "improved", "same", "new"
          CANNOT_TELL, WRONG = "cannot tell", "wrong"
          # Less than one in ten calls is what a call does now and then: a table that grows, a cache that is filled.
          LEAST = 0.1

          module_function

          # A figure that every process agrees about is exact: any growth is one. One that differs between processes of
          # the same code has grown where its ranges are apart by more than they are wide.
          #
          # @param base [Array<Float>] of its processes
          # @param head [Array<Float>]
          # @param margin [Float, nil] nil: it does not gate
          # @return [Hash{String => Object}]
          def exact(metric, base, head, margin:)
            spread = [base, head].map { |figures| figures.max - figures.min }.max
            up, down = head.min - base.max, base.min - head.max
            verdict = if margin && up > margin + spread && up >= LEAST then REGRESSED
                      elsif down > spread && down >= LEAST then IMPROVED
                      else SAME
                      end
            { "metric" => metric, "base" => base, "head" => head, "margin" => margin, "exact" => spread.zero?,
              "verdict" => verdict }
          end

          # @param passes [Array<Hash, nil>] "estimate", "low" and "high" of head by base, and those of the "mean", of
          #   the first pass, and of the second where there was one
          # @param margin [Float, nil] 0.05: 5 %
          # @param gates [Boolean] false: of a quick run, which gates no time
          # @return [Hash{String => Object}]
          def time(passes, margin:, gates: true)
            first, again = passes
            { "metric" => Configuration::TIME, "ratio" => first, "again" => again, "margin" => margin,
              "verdict" => time_verdict(first, again, margin, gates) }
          end

          # Slower beyond the margin, the whole interval of the median or that of the mean.
          def slower?(ratio, margin) = !margin.nil? && both(ratio).any? { |found| found["low"] > 1.0 + margin }

          # No slower than the margin allows, both whole intervals.
          def within?(ratio, margin)
            !ratio.nil? && both(ratio).all? { |found| found["high"] <= 1.0 + margin.to_f }
          end

          def both(ratio) = [ratio, ratio&.fetch("mean", nil)].compact
          private_class_method :both

          def time_verdict(first, again, margin, gates)
            return CANNOT_TELL unless first
            return slower?(again, margin) ? REGRESSED : NOT_CONFIRMED if slower?(first, margin) && gates
            return IMPROVED if margin && both(first).all? { |found| found["estimate"] < 1.0 } &&
                               first["high"] < 1.0 / (1.0 + margin)
            margin.nil? || within?(first, margin) ? SAME : CANNOT_TELL
          end
          private_class_method :time_verdict

          # Of a cell that one of the sides has no figures of.
          #
          # @param base [Hash{String => Object}] an outcome
          # @param head [Hash{String => Object}]
          # @return [Hash{String => Object}, nil] nil where both have figures
          def status(base, head)
            sound = [base, head].map { |outcome| Engine::Outcome.measured?(outcome) }
            return if sound.all?
            verdict, reason = if sound == [false, false] then both_failed(base, head)
                              elsif sound.first then [WRONG, Engine::Outcome.words(head)]
                              else [NEW, "the base: #{Engine::Outcome.words(base)}"]
                              end
            { "metric" => "values", "verdict" => verdict, "reason" => reason }
          end

          def both_failed(_base, head)
            wrong = Engine::Outcome::FAULTS.include?(head["status"])
            [wrong ? WRONG : CANNOT_TELL, Engine::Outcome.words(head)]
          end
          private_class_method :both_failed
        end
      end
    end
  end
end
