# frozen_string_literal: true

module Tiercel::Lab
  module Engine
    # The noise floor of each medium: how much two copies of the same arm differ. The class pools the null arms of all
    # comparisons, because a single comparison has only a few processes.
    class Noise
      # @param cells [Array<Cell>] cells of a run
      # @return [Hash{Symbol => Noise}] by medium
      def self.of(cells)
        measured = cells.select(&:measured?)
        nulls = measured.select { |cell| cell.arm.role == :null }
        nulls.group_by { |cell| cell.arm.contestant.medium }.filter_map { |medium, group|
          deviations = group.flat_map { |null| deviations(null, measured) }
          [medium, new(deviations)] if deviations.any?
        }.to_h
      end

      # @return [Array<Float>] for each process, the median logarithm of the null arm's time divided by its twin's
      def self.deviations(null, cells)
        twin = cells.find { |cell| cell.comparison.equal?(null.comparison) && cell.arm.id == null.arm.twin_of }
        return [] unless twin
        Paired.logs(null.block_ns, twin.block_ns).map { |logs| Statistics.median(logs) }
      end
      private_class_method :deviations

      # @param deviations [Array<Float>] logarithms
      def initialize(deviations)
        @deviations = deviations
      end

      # @param processes [Integer] number of processes of a cell
      # @return [Float] the bound below which 95 % of the differences between copies lie, 0.02: 2 %
      def floor(processes)
        usual = Statistics.clipped_deviation(@deviations)
        reach = Statistics.t_quantile(0.975, [@deviations.size - 1, 1].max) * usual / Math.sqrt(processes)
        Math.exp(reach) - 1.0
      end
    end

    # The summary of a cell's blocks. Every figure includes garbage collection, see {Cell#block_ns}.
    #
    # - `ns`: nanoseconds of a call, the median of the blocks with its interval; `mean_ns`: their mean with its
    #   interval over the processes; `mad_ns`: the blocks' median absolute deviation; `gc_ns`: the mean collection
    #   time of a call
    # - `ratio`: the median of the paired blocks' ratios to the baseline, with its interval; `mean_ratio`: the ratio
    #   of the means, with its interval over the processes; both nil for the baseline
    # - `slow`: if mean and median differ, the blocks that cause the difference ({Statistics::SlowBlocks})
    # - `floor`: the noise floor, the largest difference between two copies of the same arm (0.01: 1 %) in the media
    #   of both arms
    # - `margin`: the margin of the `verdict`, see {Protocol#margin_for}
    # - `needs`: the estimated number of processes for a verdict; nil if there is a verdict, if the ratio is close to
    #   the margin, or after a quick run
    # - `flags`: "unsteady" (its cost still fell when the recording began), "compiling" (YJIT compiled during a
    #   slice), "saturated" (the client's CPU was), "incomplete" or "plain" (fewer processes than planned,
    #   undecided or decided)
    Summary = Data.define(:ns, :mean_ns, :mad_ns, :gc_ns, :ratio, :mean_ratio, :slow, :floor, :margin, :verdict,
                          :needs, :flags)

    class Summary
      # Computes the summaries of cells. All cells of a comparison must be among them.
      #
      # @param cells [Array<Cell>]
      # @param protocol [Protocol]
      # @param run [Array<Cell>] all cells of the run; their null arms are pooled
      def self.fill(cells, protocol:, run: cells)
        noise = Noise.of(run)
        cells.group_by(&:comparison).each_value { |group| Summarizer.new(group, protocol, noise).fill }
      end

      # @return [Hash{String => Object}] the form of the results file
      def record
        { "ns" => ns.record, "mean_ns" => mean_ns.record, "mad_ns" => mad_ns, "gc_ns" => gc_ns,
          "ratio" => ratio&.record, "mean_ratio" => mean_ratio&.record, "slow" => slow&.record, "floor" => floor,
          "threshold" => margin, "verdict" => verdict&.to_s, "needs" => needs, "flags" => flags }
      end

      # Computes the summaries of one comparison.
      class Summarizer
        def initialize(cells, protocol, noise)
          @noise = noise
          @cells = cells.select(&:measured?)
          @protocol = protocol
          @analyses = protocol.analyses
          @by_id = @cells.to_h { |cell| [cell.arm.id, cell] }
          @blocks = @cells.to_h { |cell| [cell, cell.block_ns] }
        end

        def fill = @cells.each { |cell| cell.summary = summarize(cell) }

        private

        # Uses the processes that all arms have in common. An arm with a late verdict ran in additional processes.
        def shared(cell)
          processes = @blocks.each_value.map(&:keys).reduce(:&)
          (processes.empty? ? @blocks[cell] : @blocks[cell].slice(*processes)).values.map(&:values)
        end

        # Each interval has the confidence of the interim analysis after this number of processes.
        def interval(logs) = Statistics::MedianInterval.of(logs, alpha: alpha_of_each(logs.size))

        def time(processes) = Statistics::MedianInterval.of_times(processes, alpha: alpha(processes.size))

        def mean(processes) = Statistics::MeanInterval.of(processes, alpha: alpha(processes.size))

        def alpha(processes) = @analyses.alpha(processes)

        # A verdict looks at two statistics, median and mean, so each has half of the probability of an error.
        def alpha_of_each(processes) = alpha(processes) / 2

        def summarize(cell)
          per_process = shared(cell)
          median, mean = time(per_process), mean(per_process)
          base = { ns: median, mean_ns: mean, mad_ns: Statistics.mad(per_process.flatten).to_f, gc_ns: cell.gc_ns,
                   flags: flags(cell), slow: nil, ratio: nil, mean_ratio: nil, floor: nil, margin: nil, verdict: nil,
                   needs: nil }
          Summary.new(**base, **compared(cell))
        end

        def compared(cell)
          reference = reference_of(cell)
          return {} unless reference
          logs = logs(cell, reference)
          return {} if logs.empty?
          median = interval(logs)
          mean = mean_ratio(cell, reference, logs.size)
          media = [cell.arm.contestant.medium, reference.arm.contestant.medium].uniq
          floor = @noise.values_at(*media).compact.map { |noise| noise.floor(logs.size) }.max
          margin = @protocol.margin_for(media, floor:)
          verdict = @protocol.verdict(median.exp, mean, margin:, floor: (floor unless cell.arm.role == :null))
          { ratio: median.exp, mean_ratio: mean, floor:, margin:, verdict:,
            slow: (slow(cell, reference) if Statistics::Verdict.apart?(median.exp, mean, 1.0 + margin)),
            needs: (needs(median, mean, logs.size, margin) if verdict == :cannot_tell) }
        end

        def mean_ratio(cell, reference, processes)
          Paired.mean_ratio(*paired(cell, reference), alpha: alpha_of_each(processes))
        end

        # The blocks of both cells by one clock. A store in this process is usually timed by its CPU time. Beside a
        # server it is timed by the wall clock, like the server.
        def paired(*cells)
          return cells.map { |cell| @blocks[cell] } if cells.map(&:clock).uniq.one?
          cells.map { |cell| (@by_wall ||= {})[cell] ||= cell.block_ns(:wall) }
        end

        # Looks for slow blocks in the arm, then in the arm that it is compared to.
        def slow(*cells)
          cells.each do |cell|
            costs = @blocks[cell].values.flat_map(&:values)
            found = Statistics::SlowBlocks.among(costs, calls: cell.slices.sum(&:calls).fdiv(costs.size))
            return found if found
          end
          nil
        end

        # Estimates by the median, or by the mean if only the mean is undecided.
        def needs(median, mean, processes, margin)
          open = @protocol.verdict(median.exp, margin:) == :cannot_tell
          open = open ? median : mean.map { |ratio| Math.log(ratio) }
          @protocol.needed(open, processes, distance: (open.estimate.abs - Math.log(1.0 + margin)).abs)
        end

        def reference_of(cell)
          return @by_id[cell.arm.twin_of] if cell.arm.role == :null
          @cells.find { |other| other.arm.role == :baseline } unless cell.arm.role == :baseline
        end

        def logs(cell, reference) = Paired.logs(*paired(cell, reference))

        def flags(cell)
          waits = %i[loopback remote].include?(cell.arm.contestant.medium)
          flags = { "compiling" => cell.compiling?, "unsteady" => cell.unsteady?,
                    "saturated" => waits && cell.cpu_share > Protocol::SATURATED_SHARE,
                    (cell.decided? ? "plain" : "incomplete") => @blocks[cell].size < @protocol.processes }
          flags.select { |_flag, raised| raised }.keys
        end
      end
      private_constant :Summarizer
    end

    # Reasons to doubt a run's figures, as sentences.
    module Warnings
      module_function

      # @param disturbances [Array<Hash>] see {Measurement#disturbances}
      # @param cells [Array<Cell>]
      # @param interrupted [Boolean]
      # @return [Array<String>]
      def of(disturbances, cells, interrupted:)
        flags = cells.flat_map { |cell| cell.summary ? cell.summary.flags : [] }
        [share(disturbances, "steal", Protocol::STEAL_SHARE, "The hypervisor took up to %s of the CPUs."),
         share(disturbances, "pressure", Protocol::PRESSURE_SHARE,
               "Other programs used the CPUs (pressure up to %s), which widens the intervals."),
         aside(disturbances), told_apart(cells), *lost(cells.select(&:measured?)),
         ("To end in time, some cells have fewer processes." if flags.intersect?(%w[plain incomplete]) && !interrupted),
         ("Interrupted: some cells are missing or have fewer processes." if interrupted)].compact
      end

      def aside(disturbances)
        count = disturbances.count { |round| round["aside"] }
        "#{count} of #{disturbances.size} rounds were set aside: other programs had the CPU." if count.positive?
      end
      private_class_method :aside

      # Cells whose other processes have figures.
      def lost(cells)
        lost = cells.flat_map { |cell| cell.lost.values.map { |reason| [reason, cell.id] } }.group_by(&:first)
        lost.map { |why, all| "A process was lost, #{why}; the others count: #{all.map(&:last).uniq.join(", ")}." }
      end
      private_class_method :lost

      # If the verdict distinguishes two copies of the same code, other verdicts of the run may be wrong too.
      def told_apart(cells)
        wrong = cells.select { |cell| cell.arm.role == :null && %i[faster slower].include?(cell.summary&.verdict) }
        return if wrong.empty?
        names = wrong.map { |cell| cell.id.delete_suffix(" (again)") }
        "Two copies of the same code were told apart (#{names.join(", ")}): do not trust verdicts near their margins."
      end
      private_class_method :told_apart

      def share(disturbances, name, most, words)
        worst = disturbances.filter_map { |round| round[name] }.max.to_f
        format(words, format("%.1f %%", worst * 100)) if worst > most
      end
      private_class_method :share
    end
  end
end
