# frozen_string_literal: true

module Tiercel::Lab
  module Engine
    # The outcome of an arm, a store or a page: a status with figures, or a status with a reason. Processes answer with
    # it, and results record it.
    module Outcome
      MEASURED = "measured"
      MISSES = "misses"
      WRONG = "wrong values"
      CANNOT_RUN = "cannot run"
      # Statuses that make the run exit with 4.
      FAULTS = [MISSES, WRONG].freeze

      module_function

      # @yieldreturn [Hash, Object] figures; any other object counts as no figures
      # @return [Hash{String => Object}] "status" and figures, or "status", "reason" and "at"
      def of
        figures = yield
        { "status" => MEASURED, **(figures.is_a?(Hash) ? figures.transform_keys(&:to_s) : {}) }
      rescue Missed => e
        failure(MISSES, e.message)
      rescue WrongValue => e
        failure(WRONG, e.message)
      rescue CannotRun, WorkerLost => e
        failure(CANNOT_RUN, e.message)
      rescue StandardError, ScriptError => e
        failure(CANNOT_RUN, "#{e.class}: #{e.message.lines.first.to_s.strip}", e.backtrace&.first)
      end

      def failure(status, reason, at = nil) = { "status" => status, "reason" => reason, "at" => at }.compact

      # Records an outcome in a row. The first failure of a row stays.
      #
      # @param row [Hash{String => Object}] a row with "status"
      # @param outcome [Hash{String => Object}]
      def note(row, outcome)
        row.merge!(outcome.slice("status", "reason")) if measured?(row) && !measured?(outcome)
      end

      # @param row [Hash{String => Object}] a row with "status"
      def measured?(row) = row["status"] == MEASURED

      # @return [String] "misses: nothing came back"
      def words(row) = row.values_at("status", "reason").compact.join(": ")
    end

    # Ratios of figures from the same blocks, which ran next to each other.
    module Paired
      module_function

      # @param mine [Hash{Object => Hash{Object => Float}}] figures by process, then block
      # @param theirs [Hash{Object => Hash{Object => Float}}]
      # @return [Array<Array<Float>>] logarithms of the ratios mine / theirs; one list for each process with blocks of
      #   both
      def logs(mine, theirs)
        mine.filter_map do |process, blocks|
          logs = blocks.filter_map do |block, figure|
            other = theirs.dig(process, block)
            Math.log(figure / other) if other
          end
          logs unless logs.empty?
        end
      end

      # @param mine [Hash{Object => Hash{Object => Float}}]
      # @param theirs [Hash{Object => Hash{Object => Float}}]
      # @return [Statistics::Interval, nil] ratio of the means over all pairs
      def mean_ratio(mine, theirs, alpha: Statistics::MedianInterval::ALPHA)
        pairs = mine.filter_map do |process, blocks|
          shared = blocks.keys & theirs.fetch(process, {}).keys
          [blocks, theirs[process]].map { |figures| figures.values_at(*shared) } unless shared.empty?
        end
        Statistics::MeanInterval.ratio(*pairs.transpose, alpha:) unless pairs.empty?
      end

      # @return [Statistics::Interval, nil] median ratio mine / theirs; nil without pairs
      def ratio(mine, theirs, alpha: Statistics::MedianInterval::ALPHA)
        logs = logs(mine, theirs)
        Statistics::MedianInterval.of(logs, alpha:).exp unless logs.empty?
      end
    end

    # An arm in the plan of a comparison.
    #
    # @!attribute [r] id
    #   @return [Integer] number within its comparison
    # @!attribute [r] role
    #   @return [Symbol] :baseline, :contestant, :null (a second copy of another arm), or :loop (no store)
    # @!attribute [r] twin_of
    #   @return [Integer, nil] the arm that a null arm copies
    ArmSpec = Data.define(:id, :contestant, :operation, :role, :twin_of) do
      # @return [Boolean] whether it has a row in the tables
      def row? = %i[baseline contestant].include?(role)

      def name
        case role
        when :null then "#{contestant.name} (again)"
        when :loop then "loop"
        else contestant.name
        end
      end
    end

    # Arms that are measured against each other on one value, in turns.
    #
    #   Comparison.of(value: Values.fetch("html-2kb"), operation: Operations.fetch("read"), contestants: [...])
    #
    # Arms may have different operations (a backend's get against MemoryStore#read): see {Comparison.between}.
    class Comparison
      attr_reader :value
      # @return [Array<ArmSpec>] the baseline first
      attr_reader :arms

      # Compares the same operation on several contestants.
      #
      # @param contestants [Array<Contestant>]
      # @param baseline [Contestant] one of them
      # @param loop [Boolean] whether to measure the bare loop too
      def self.of(value:, operation:, contestants:, baseline: contestants.first, loop: false)
        others = contestants.reject { |contestant| contestant.equal?(baseline) }
        between(value:, baseline: [baseline, operation], others: others.map { |other| [other, operation] }, loop:)
      end

      # Compares any pairs of contestant and operation.
      #
      # @param baseline [Array(Contestant, Operation)]
      # @param others [Array<Array(Contestant, Operation)>]
      def self.between(value:, baseline:, others:, loop: false)
        rows = [[*baseline, :baseline, nil], *others.map { |pair| [*pair, :contestant, nil] }]
        rows += null_arms(rows)
        rows << [baseline.first, Operations.fetch("loop"), :loop, nil] if loop
        rows(value, rows)
      end

      # @param rows [Array<Array(Contestant, Operation, Symbol, Integer)>] contestant, operation, role and twin
      def self.rows(value, rows)
        new(value:, arms: rows.each_with_index.map { |(contestant, operation, role, twin_of), id|
          ArmSpec.new(id:, contestant:, operation:, role:, twin_of:)
        })
      end

      # One null arm for each medium: a second copy of the medium's first arm.
      def self.null_arms(rows)
        rows.each_with_index.uniq { |(contestant), _id| contestant.medium }
            .map { |(contestant, operation), id| [contestant, operation, :null, id] }
      end
      private_class_method :null_arms

      def initialize(value:, arms:)
        @value = value
        @arms = arms
      end

      def baseline = arms.find { |arm| arm.role == :baseline }

      def operation = baseline.operation

      def id = "#{value.name}/#{arms.select(&:row?).map { |arm| arm.operation.name }.uniq.join("+")}"

      def cell_id(arm) = "#{value.name}/#{arm.operation.name}/#{arm.name}"

      # @return [Array<Symbol>] servers that the arms need
      def servers = arms.flat_map { |arm| arm.contestant.servers }.uniq

      # @return [Hash{String, nil => Array<ArmSpec>}] arms by the bundle of their worker
      def bundles = arms.group_by { |arm| arm.contestant.bundle }

      # @param arms [Array<ArmSpec>] the arms to measure
      # @return [Float] an estimate
      def expected_seconds(protocol, arms: self.arms, processes: protocol.processes)
        of_arm = Protocol::PREPARE_SECONDS + (protocol.slices * protocol.slice_ns / 1e9)
        per_process = (arms.size * of_arm) + (protocol.blocks * Protocol::BLOCK_SECONDS)
        per_process * processes * (value.large? ? Protocol::LARGE_FACTOR : 1)
      end
    end

    # One arm of one comparison with its measurements: every slice of every block is kept.
    class Cell
      # One slice: its process, block and position; the number of calls; wall time, collection time and CPU time (ns);
      # the number of methods that YJIT compiled during it; the servers' CPU time, if the operation measures it.
      # `wait_ns` is the time that the process slept or waited for locks or input. `delay_ns` is the time that the
      # process and its servers spent in the run queue.
      Slice = Data.define(:process, :block, :position, :calls, :ns, :gc_ns, :cpu_ns, :compiled, :server_ns, :wait_ns,
                          :delay_ns) do
        def initialize(process:, block:, position:, calls:, ns:, gc_ns:, cpu_ns:, compiled:, server_ns: nil,
                       wait_ns: nil, delay_ns: nil) = super

        # The whole cost of the calls: it includes garbage collection, sleeping and waiting for locks, but not time in
        # the run queue.
        #
        # @param clock [Symbol] :cpu or :wall
        def cost_ns(clock)
          clock == :cpu ? cpu_ns + wait_ns.to_i : [ns - delay_ns.to_i, cpu_ns].max
        end

        # The cost without garbage collection. Ruby may report more collection time than a short slice took, so the
        # result is at least 1.
        def own_ns(clock) = [cost_ns(clock) - gc_ns, 1].max

        # @return [Array<Integer, nil>] the form of the results file
        def record
          values = to_h.values
          values.pop while values.last.nil?
          values
        end
      end

      attr_reader :comparison
      # @return [ArmSpec]
      attr_reader :arm
      # @return [String] a status of {Outcome}, or "unsuitable"
      attr_reader :status
      # @return [String, nil] the reason why there are no figures, and a command that helps
      attr_reader :reason
      # @return [Integer, nil] calls of a slice, and calls of the warm-up, as the first process found them
      attr_reader :calls, :warm_up
      # @return [Float, nil] objects that one call allocates
      attr_reader :allocations
      # @return [Integer, nil] the median
      def stored_bytes = bytes["stored_bytes"]

      # @return [Hash{String => Integer}] see {Arm#stored_bytes}
      def bytes = @bytes || {}

      # @return [Array<Slice>]
      attr_reader :slices
      # @return [Summary, nil]
      attr_accessor :summary
      # @return [Boolean] whether it has a verdict; later processes then skip it
      attr_accessor :decided
      alias decided? decided
      # @return [Array<Integer>] processes that ran while the machine was disturbed; the figures leave them out
      attr_accessor :aside

      def initialize(comparison, arm)
        @comparison = comparison
        @arm = arm
        @slices = []
        @aside = []
        @status = Outcome::MEASURED
      end

      def id = comparison.cell_id(arm)

      def sound? = status == Outcome::MEASURED

      def measured? = sound? && slices.any?

      # Records an outcome. The first failure fails the cell, even if the other processes have figures.
      #
      # @param outcome [Hash{String => Object}] a worker's answer for this arm
      def note(outcome)
        unless Outcome.measured?(outcome)
          @status, @reason = outcome.values_at("status", "reason") if sound?
          return
        end
        @calls ||= outcome["calls"]
        @unsteady ||= outcome["unsteady"]
        @warm_up ||= outcome["warm_up"]
        @allocations ||= outcome["allocations"]
        @bytes ||= outcome["exact"]
      end

      # Records that a process was lost. Its slices do not count. The cell fails if no other process has any: at once if
      # this is the second one, or if no signal has ended it.
      #
      # @param process [Integer]
      # @param outcome [Hash{String => Object}]
      def lose(process, outcome)
        slices.reject! { |slice| slice.process == process }
        lost[process] ||= outcome["reason"]
        give_up if lost.size > 1 || !outcome["reason"].to_s.include?(" by signal ")
      end

      def give_up
        note(Outcome.failure(Outcome::CANNOT_RUN, lost.values.first)) if slices.empty? && lost.any?
      end

      # @return [Hash{Integer => String}] lost processes with the reasons
      def lost = @lost ||= {}

      # @return [Array<Slice>] the slices of all processes that are not set aside
      def used = aside.empty? ? slices : slices.reject { |slice| aside.include?(slice.process) }

      # Drops the slices of later processes, because an interrupted analysis does not count.
      #
      # @param processes [Integer] number of processes of the last complete analysis
      def keep(processes) = slices.select! { |slice| slice.process < processes }

      # @return [Symbol] :cpu or :wall
      def clock = arm.operation.clock || arm.contestant.clock

      # Nanoseconds of a call, one figure for each block. Garbage collection is included. Its moments are random, so
      # all blocks of a process share the process' collection time equally.
      #
      # @param clock [Symbol] :cpu or :wall
      # @return [Hash{Integer => Hash{Integer => Float}}] by process, then block
      def block_ns(clock = self.clock)
        used.group_by(&:process).transform_values do |of_process|
          collected = of_process.sum(&:gc_ns).fdiv(of_process.sum(&:calls))
          blocks = of_process.group_by(&:block).transform_values do |of_block|
            collected + of_block.sum { |slice| slice.own_ns(clock) }.fdiv(of_block.sum(&:calls))
          end
          blocks.drop(SteadyState.warm_up(blocks.values)).to_h
        end
      end

      # @return [Float] nanoseconds of garbage collection a call, mean of all slices
      def gc_ns = used.sum(&:gc_ns).fdiv(used.sum(&:calls))

      # @return [Float] share of the time that the worker was on the CPU
      def cpu_share = slices.sum(&:cpu_ns).fdiv(slices.sum(&:ns))

      # @return [Boolean] whether its cost still fell when the recording began
      def unsteady? = @unsteady ? true : false

      def compiling? = slices.any? { |slice| slice.compiled.positive? }

      # The form of the results file: plain Hashes with every slice; see schema/tiercel-lab-1.json.
      #
      # @return [Hash{String => Object}]
      def record
        twin = comparison.arms.find { |other| other.id == arm.twin_of }
        { "id" => id, "comparison" => comparison.id, "value" => comparison.value.name,
          "operation" => arm.operation.name, "contestant" => arm.contestant.describe, "role" => arm.role.to_s,
          "twin_of" => twin && comparison.cell_id(twin), "clock" => clock.to_s, "status" => status,
          "reason" => reason, "calls" => calls, "warm_up" => warm_up,
          "exact" => { "allocations" => allocations, "stored_bytes" => stored_bytes, **bytes },
          **(aside.any? ? { "aside" => aside } : {}), "slices" => slices.map(&:record), "summary" => summary&.record }
      end
    end
  end
end
