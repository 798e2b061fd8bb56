# frozen_string_literal: true

module Tiercel::Lab
  module Sides
    # Judges the figures of both sides for one cell. Each metric has a row with a verdict:
    #
    # - "regressed": an exact figure grew, or the time grew in both passes
    # - "not confirmed": the time grew in the first pass only
    # - "accepted": it regressed, and a commit or an option accepts the regression
    # - "improved", "same": within the margin; "new": only the head has the cell
    # - "cannot tell": there is no figure, or the interval reaches beyond the margin
    # - "wrong": the head's cell returned a wrong result, or raised an error that the base's did not raise
    module Judgement
      # Exact figures: the key in the file, and the words of the report.
      EXACT = { "objects" => "objects allocated by one call", "stored_bytes" => "bytes stored for one value",
                "round_trips" => "round trips of one call", "wire_bytes" => "bytes on the wire for one call",
                "queries" => "SQL queries of one call",
                "kept_objects" => "objects that the process keeps" }.freeze
      TIME = "time"
      # A smaller difference in time has no practical importance. For exact figures, any increase fails the gate. Kept
      # objects are an exception, because code and constants of two versions differ by thousands.
      MARGINS = { TIME => 0.05, **EXACT.to_h { |metric, _words| [metric, 0] }, "kept_objects" => 20_000 }.freeze
      REGRESSED, NOT_CONFIRMED, ACCEPTED = "regressed", "not confirmed", "accepted"
      IMPROVED, SAME, NEW = "improved", "same", "new"
      CANNOT_TELL, WRONG = "cannot tell", "wrong"
      # A smaller difference is occasional work, such as a growing hash table or a cache being filled.
      LEAST = 0.1

      module_function

      # A figure is exact if all processes agree; any growth is then a regression. Otherwise the two ranges must be
      # further apart than they are wide.
      #
      # @param base [Array<Float>] figures of the base's processes
      # @param head [Array<Float>] figures of the head's processes
      # @param margin [Float, nil] nil: the figure fails no gate
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

      # @param passes [Array<Hash, nil>] one for the first pass, and one for a second pass if there was one. Each has
      #   "estimate", "low" and "high" of the head's time divided by the base's, and the same for the "mean"
      # @param margin [Float, nil] 0.05: 5 %; nil: the time cannot fail the gate
      # @return [Hash{String => Object}]
      def time(passes, margin:)
        first, again = passes
        { "metric" => TIME, "ratio" => first, "again" => again, "margin" => margin,
          "verdict" => time_verdict(first, again, margin) }
      end

      # Returns whether the whole interval of the median, or of the mean, lies beyond the margin.
      def slower?(ratio, margin) = !margin.nil? && both(ratio).any? { |found| found["low"] > 1.0 + margin }

      # Returns whether both whole intervals, of the median and of the mean, lie within the margin.
      def within?(ratio, margin)
        !ratio.nil? && both(ratio).all? { |found| found["high"] <= 1.0 + margin.to_f }
      end

      def both(ratio) = [ratio, ratio&.fetch("mean", nil)].compact
      private_class_method :both

      def time_verdict(first, again, margin)
        return CANNOT_TELL unless first
        return slower?(again, margin) ? REGRESSED : NOT_CONFIRMED if slower?(first, margin)
        return IMPROVED if margin && both(first).all? { |found| found["estimate"] < 1.0 } &&
                           first["high"] < 1.0 / (1.0 + margin)
        margin.nil? || within?(first, margin) ? SAME : CANNOT_TELL
      end
      private_class_method :time_verdict

      # The row of a cell for which one side has no figures.
      #
      # @param base [Hash{String => Object}] an outcome
      # @param head [Hash{String => Object}]
      # @return [Hash{String => Object}, nil] nil if both sides have figures
      def status(base, head)
        sound = [base, head].map { |outcome| Engine::Outcome.measured?(outcome) }
        return if sound.all?
        verdict = if sound.last then NEW
                  elsif sound.first || Engine::Outcome::FAULTS.include?(head["status"]) then WRONG
                  else CANNOT_TELL
                  end
        reason = verdict == NEW ? "the base: #{Engine::Outcome.words(base)}" : Engine::Outcome.words(head)
        { "metric" => "values", "verdict" => verdict, "reason" => reason }
      end
    end
  end
end
