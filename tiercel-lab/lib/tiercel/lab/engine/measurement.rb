# frozen_string_literal: true

module Tiercel::Lab
  module Engine
    # The order in which a process builds and runs its arms. Inside one process the order alone makes a difference of
    # 6 %. Every second process therefore reverses the order of the process before: each arm precedes each other arm
    # in half of the processes.
    module Slots
      # Any number of multiples of this ratio, modulo 1, spread evenly over 0 to 1.
      GOLDEN_RATIO = (Math.sqrt(5) - 1) / 2

      module_function

      # @param ids [Array<Integer>]
      # @param process [Integer]
      # @param seed [Integer]
      # @return [Array<Integer>] the order in which the process builds its arms
      def order(ids, process:, seed:)
        shuffled = ids.shuffle(random: Random.new((seed * 1_000) + (process / 2)))
        process.even? ? shuffled : shuffled.reverse
      end

      # Runs every arm once, then all arms in reverse (ABBA). Each block begins with another arm.
      #
      # @param order [Array<Integer>] the process' order of arms
      # @param block [Integer]
      # @return [Array<Integer>]
      def block(order, block)
        forward = order.rotate(block)
        forward + forward.reverse
      end

      # The length of the unrecorded run between an arm's warm-up and its first slice. Each process begins with a fresh
      # store. Without a head start, a pause every N calls would come at the same recorded calls in every process. A
      # pause of 60 ms every 16.5 slices was then measured as 35 ms, and a pause every 40 slices was never seen.
      #
      # @param process [Integer]
      # @param most [Float] slices of the longest head start
      # @return [Float] slices
      def head_start(process, most:) = (process * GOLDEN_RATIO) % 1.0 * most
    end

    # Keeps a run's time budget. Each value gets a share of it in proportion to its planned time, and the time that
    # earlier values did not use.
    class Pace
      # @param expected_seconds [Float] planned time of the whole run
      # @param budget_seconds [Numeric, nil] nil: no limit
      # @param clock [#call] monotonic seconds
      def initialize(expected_seconds:, budget_seconds:, clock:)
        @budget = budget_seconds
        @expected = expected_seconds
        @begun = 0.0
        @clock = clock
        @started = clock.call
      end

      # Begins a value.
      #
      # @param seconds [Float] its planned time
      # @return [void]
      def begin(seconds) = @begun += seconds

      # @param seconds [Float]
      # @return [Boolean] whether the values so far may take so much more
      def room?(seconds)
        @budget.nil? || @clock.call - @started + seconds <= @budget * [@begun / @expected, 1.0].min
      end
    end

    # The rounds of one value. If the machine was disturbed during some rounds, more are made, and the least disturbed
    # ones count. The disturbance is measured by steal and by the workers' time in the run queue; the rounds' own
    # results have no influence.
    class Rounds
      # @yieldparam process [Integer] number of the next round
      # @yieldreturn [Float, nil] the share of the round's time that other programs took; nil if unknown
      def initialize(&make)
        @make = make
        @shares = []
      end

      # @return [Integer] number of rounds so far
      def made = @shares.size

      # After the first two rounds, rounds come in pairs: every second one reverses the order of the arms.
      #
      # @param size [Integer] rounds that the analysis uses
      # @param again [Boolean] whether to replace disturbed rounds, up to a third of `size`
      # @param whole [Boolean] whether the caller has already found room in the budget for all of them
      # @yieldparam number [Integer] number of further rounds
      # @yieldreturn [Boolean] whether the budget has room for them
      # @return [void]
      def make(size, again:, whole: false)
        while made < size
          return unless whole || made.zero? || (made > 1 && made.odd?) || yield([made == 1 ? 1 : 2, size - made].min)
          add
        end
        return unless again
        (size / 3).times do
          break unless disturbed?(worst(size)) && yield(1)
          add
          break if disturbed?(@shares.last) # the machine is not quiet between disturbances, it is busy
        end
      end

      # @param size [Integer]
      # @return [Array<Integer>] numbers of the rounds that the figures leave out
      def aside(size) = (0...made).to_a - used_of(size)

      private

      def add = @shares << @make.call(made)

      def used_of(size) = (0...made).min_by(size) { |process| [@shares[process].to_f, process] }

      def worst(size) = @shares[used_of(size).last]

      def disturbed?(share) = share.to_f > Protocol::DISTURBED_SHARE
    end

    # One set of fresh workers that goes through all comparisons of one value.
    class Round
      # @param process [Integer] number of the round
      # @param cells [Array<Cell>] cells of the whole run
      # @param options see {Measurement}
      def initialize(process:, comparisons:, cells:, protocol:, seed:, pool:, scratch:, requires:, progress:,
                     pinning:, digests:, first:)
        @first = first
        @process = process
        @comparisons = comparisons
        @cells = cells.group_by(&:comparison)
        @protocol = protocol
        @seed = seed
        @pool = pool
        @scratch = scratch
        @progress = progress
        @digests = digests
        arms = comparisons.flat_map { |comparison| open_arms(comparison) }
        @workers = WorkerPool.new(bundles: arms.map { |arm| bundle(arm) }.uniq, pinning:, requires:, progress:)
      end

      # @return [void]
      def run
        # Begins with another comparison in each process, so that the youngest process does not always measure the
        # same one.
        @comparisons.rotate(@process).each do |comparison|
          measure(comparison) if open_arms(comparison).any?
          @first.call(@cells.fetch(comparison))
          arms = @process < @protocol.processes ? comparison.arms : open_arms(comparison)
          @progress&.advance(comparison.expected_seconds(@protocol, arms:, processes: 1), comparison.id)
        end
      ensure
        @workers.stop
      end

      private

      # The arms without a verdict.
      def open_arms(comparison) = @cells.fetch(comparison).reject(&:decided?).map(&:arm)

      def measure(comparison)
        @workers.restart_lost
        cells = @cells.fetch(comparison).to_h { |cell| [cell.arm.id, cell] }
        arms = open(comparison, running(comparison, cells), cells)
        @protocol.blocks.times { |block| run_block(block, arms, cells) } if arms.any?
        ask(arms, cells, "close") { {} }.flatten.each { |outcome| note(cells[outcome["id"]], outcome) }
      end

      # The arms that can run, in the order of this process.
      def running(comparison, cells)
        ids = Slots.order(comparison.arms.map(&:id), process: @process, seed: @seed)
        open_arms(comparison).sort_by { |arm| ids.index(arm.id) }.select do |arm|
          cell = cells[arm.id]
          why = arm.operation.unsuitable(comparison.value) and cell.note(Outcome.failure("unsuitable", why))
          failure = @workers.failure(arm) and cell.note(Outcome.failure(Outcome::CANNOT_RUN, failure))
          cell.sound?
        end
      end

      def open(comparison, arms, cells)
        facts = { value: comparison.value.to_spec, seed: @seed, slice_ns: @protocol.slice_ns,
                  label: format("%d-%02d", Process.pid, @process), servers: @pool.facts(comparison.servers),
                  folders: @scratch.folders }
        answers = ask(arms, cells, "open") do |share|
          facts.merge(arms: share.map { |arm| arm_request(arm, cells[arm.id]) })
        end
        answers.each do |answer|
          @digests[comparison.value.name] ||= answer["digest"]
          answer["arms"].each { |outcome| note(cells[outcome["id"]], outcome) }
        end
        arms.select { |arm| runs?(cells[arm.id]) }
      end

      # A process that ended or raised costs a cell this round alone; a wrong value costs it all.
      def note(cell, outcome)
        outcome["status"] == Outcome::CANNOT_RUN ? cell.lose(@process, outcome) : cell.note(outcome)
      end

      def runs?(cell) = cell.sound? && !cell.lost.key?(@process)

      def arm_request(arm, cell)
        { id: arm.id, text: arm.contestant.text, operation: arm.operation.name, calls: cell.calls,
          warm_up: cell.warm_up, exact: cell.allocations.nil?,
          garbage_bytes: @protocol.garbage_bytes(arm.contestant.medium), head_start: @protocol.head_start(@process) }
      end

      # Arms that follow each other in the same worker share one call.
      def run_block(block, arms, cells)
        position = 0
        arms = arms.select { |arm| runs?(cells[arm.id]) }
        Slots.block(arms, block).chunk_while { |one, other| bundle(one) == bundle(other) }.each do |pass|
          slices = ask(pass, cells, "pass") { |share| { arms: share.map { |arm| [arm.id, cells[arm.id].calls] } } }
          slices.flatten(1).each do |id, *figures|
            next note(cells[id], figures.first) if figures.first.is_a?(Hash)
            cells[id].slices << Cell::Slice.new(@process, block, position, *figures)
            position += 1
          end
        end
      end

      def bundle(arm) = arm.contestant.bundle

      # Calls every worker that has some of the arms. If a worker is lost, its arms fail.
      def ask(arms, cells, method)
        @workers.each(arms.select { |arm| @workers.failure(arm).nil? }) do |worker, share|
          worker.call(method, **yield(share))
        rescue WorkerLost => e
          @workers.lose(worker, e)
          share.each { |arm| note(cells[arm.id], Outcome.failure(Outcome::CANNOT_RUN, e.message)) }
          nil
        end
      end
    end

    # Measures comparisons. The class starts the servers. For each value it then runs {Protocol#processes} rounds; the
    # fresh workers of a round go through all comparisons of the value.
    #
    #   measurement = Measurement.new(comparisons, protocol: Protocol::QUICK, seed: 1)
    #   measurement.run { |value, cells| ... }   # yields a value's cells as soon as they are complete
    #   measurement.cells
    class Measurement
      # Returns whether a cell has a verdict.
      VERDICT = ->(cell) { cell.summary.verdict != :cannot_tell }

      # Estimates the time of comparisons and of their workers.
      #
      # @param comparisons [Array<Comparison>]
      # @return [Float] seconds
      def self.expected_seconds(comparisons, protocol)
        all = seconds_of(comparisons, protocol)
        least = seconds_of(comparisons, protocol.with(processes: 1))
        [all, [least, protocol.budget_seconds || all].max].min
      end

      def self.seconds_of(comparisons, protocol)
        workers = comparisons.group_by(&:value).each_value.sum do |of_value|
          of_value.flat_map { |comparison| comparison.bundles.keys }.uniq.size
        end
        comparisons.sum { |comparison| comparison.expected_seconds(protocol) } +
          (workers * protocol.processes * Protocol::WORKER_SECONDS)
      end

      # @return [Array<Cell>] in the order planned
      attr_reader :cells
      # @return [Hash{String => String}] SHA-256 of each value's objects, by the value's name
      attr_reader :digests
      # @return [Array<Hash>] the started servers
      attr_reader :servers
      # @return [Array<Hash>] shares of steal and CPU pressure, one for each round
      attr_reader :disturbances
      # @return [Pinning]
      attr_reader :pinning
      attr_writer :progress

      # @param comparisons [Array<Comparison>]
      # @param protocol [Protocol]
      # @param seed [Integer]
      # @param requires [Array<String>] files with contestants of the user's
      # @param progress [#advance, #expect, #say, nil]
      # @param pinning [Pinning]
      # @param decided [#call] whether a cell needs no more processes; by default, whether it has a verdict
      # @param clock [#call] monotonic seconds
      def initialize(comparisons, protocol:, seed:, requires: [], progress: nil, pinning: Pinning.new,
                     decided: VERDICT, clock: Stopwatch.method(:seconds))
        @clock = clock
        @comparisons = comparisons
        @protocol = protocol
        @seed = seed
        @requires = requires
        @progress = progress
        @pinning = pinning
        @decided = decided
        @digests = {}
        @servers = []
        @disturbances = []
        @cells = comparisons.flat_map { |comparison| comparison.arms.map { |arm| Cell.new(comparison, arm) } }
      end

      # @yieldparam value [Value]
      # @yieldparam cells [Array<Cell>] cells of this value, with summaries
      # @return [Array<Cell>] all of them
      # @raise [Interrupt] after it has summarized and yielded the cells measured so far
      def run(&on_value)
        @pace = Pace.new(expected_seconds: Measurement.seconds_of(@comparisons, @protocol), clock: @clock,
                         budget_seconds: @protocol.budget_seconds)
        with_resources do |pool, scratch|
          @comparisons.group_by(&:value).each do |value, comparisons|
            measure_value(value, comparisons, pool, scratch, &on_value)
          end
        end
        cells
      end

      private

      def with_resources
        pool = ServerPool.new(pinning:)
        scratch = Scratch.new
        yield pool, scratch
      ensure
        @servers = pool ? pool.describe : []
        pool&.stop
        scratch&.remove
      end

      # Cells that an analysis decides take no part in later rounds, see {Statistics::InterimAnalyses}.
      def measure_value(value, comparisons, pool, scratch)
        mine = @cells.select { |cell| cell.comparison.value.equal?(value) }
        done = 0
        @pace.begin(Measurement.seconds_of(comparisons, @protocol))
        rounds = Rounds.new { |process| round(process, value, comparisons, pool, scratch, mine) }
        @protocol.analyses.sizes.each do |size|
          break if mine.all?(&:decided?) || (done.positive? && !more?(mine, size - done))
          rounds.make(size, again: @protocol.equality, whole: done.positive?) { |number| room?(mine, number) }
          skip(comparisons, size - rounds.made)
          done = rounds.made
          use(rounds.aside(size), value, mine)
          Summary.fill(mine, protocol: @protocol, run: @cells)
          mark_decided(mine)
        end
      ensure
        mine.each { |cell| cell.keep(done) } if done.positive?
        mine.each(&:give_up)
        Summary.fill(mine, protocol: @protocol, run: @cells)
        yield value, mine if block_given?
      end

      # Advances the shown progress by the rounds that the budget has no room for.
      def skip(comparisons, rounds)
        return unless rounds.positive?
        seconds = comparisons.sum { |one| one.expected_seconds(@protocol, processes: rounds) }
        @progress&.advance(seconds, comparisons.last.id)
      end

      def use(aside, value, cells)
        cells.each { |cell| cell.aside = aside unless cell.decided? }
        @disturbances.each do |round|
          round["aside"] = aside.include?(round["process"]) if round["value"] == value.name
        end
      end

      # @return [Float] the share of the round's time that other programs took
      def round(process, value, comparisons, pool, scratch, cells)
        disturbance, started = Disturbance.new, @clock.call
        make_round(process:, comparisons:, pool:, scratch:)
        @price = (@clock.call - started) / cells.count { |cell| !cell.decided? }
        found = { "delay" => delay(cells.flat_map(&:slices).select { |slice| slice.process == process }),
                  **disturbance.shares }
        @disturbances << found.merge("value" => value.name, "process" => process)
        found.values_at("delay", "steal").sum(&:to_f)
      end

      def make_round(**options)
        Round.new(cells: @cells, protocol: @protocol, seed: @seed, requires: @requires, progress: @progress, pinning:,
                  digests: @digests, first: method(:tell_first), **options).run
      end

      # Shows the medians of the first comparison's first process: a reader waits less than half a minute.
      def tell_first(cells)
        return if @told || !@progress.respond_to?(:first_figures)
        @told = true
        rows = cells.select { |cell| cell.arm.row? && cell.measured? }
        medians = rows.to_h { |cell| [cell.arm.name, Statistics.median(cell.block_ns.values.flat_map(&:values))] }
        @progress.first_figures(cells.first.comparison.id, medians) if medians.any?
      end

      # The share of the slices' time that the arms spent in the run queue.
      def delay(slices)
        told = slices.select(&:delay_ns)
        told.sum(&:delay_ns).fdiv(told.sum(&:ns)).round(4) if told.any?
      end

      def mark_decided(cells)
        rows_of(cells).each { |cell| cell.decided = !cell.measured? || @decided.call(cell) }
        close_others(cells)
      end

      def rows_of(cells) = cells.select { |cell| cell.arm.role == :contestant }

      # The baseline stays open as long as one contestant is undecided, and so do the null arms of their media.
      def close_others(cells)
        cells.group_by(&:comparison).each do |comparison, group|
          open = rows_of(group).reject(&:decided?)
          media = [*open.map(&:arm), *(comparison.baseline if open.any?)].map { |arm| arm.contestant.medium }
          (group - rows_of(group)).each do |cell|
            cell.decided = cell.arm.role == :loop || !media.include?(cell.arm.contestant.medium)
          end
        end
      end

      # Returns whether the budget has room for more rounds, at the price of the last one. If it has not, plain cells
      # ({Protocol::PLAIN}) leave their time to the others.
      def room?(cells, rounds)
        return true if fits?(cells, rounds)
        Summary.fill(cells, protocol: @protocol, run: @cells)
        rows_of(cells).each { |cell| cell.decided = true if plain?(cell) }
        close_others(cells)
        cells.any? { |cell| !cell.decided? } && fits?(cells, rounds)
      end

      def fits?(cells, rounds) = @pace.room?(@price * rounds * cells.count { |cell| !cell.decided? })

      # A store inside this process is never plain: its cost differs more between processes, and the answer is mostly
      # about such stores.
      def plain?(cell)
        ratio = cell.summary&.ratio
        ratio && cell.arm.contestant.medium != :process &&
          (ratio.low > Protocol::PLAIN || ratio.high < 1 / Protocol::PLAIN)
      end

      # Further rounds exceed the plan, so a run omits them if its budget has no room.
      def more?(cells, rounds)
        return false unless fits?(cells, rounds)
        open = cells.reject(&:decided?).group_by(&:comparison)
        @progress&.expect(open.sum { |comparison, group|
          comparison.expected_seconds(@protocol, arms: group.map(&:arm), processes: rounds)
        })
        true
      end
    end
  end
end
