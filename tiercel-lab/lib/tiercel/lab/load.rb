# frozen_string_literal: true

module Tiercel::Lab
  # One load driver for all tables in which several processes use a store at the same time. A load is a product:
  #
  #   arrivals x keys x operation x processes -> totals and times
  #
  # {Fleet} starts the processes and sends them calls, {Client} holds the stores of a process, {Driver} makes the
  # requests. A table's trial chooses the loads and records their results.
  module Load
    Tiercel::Lab.declare self, "load/fleet" => %i[CacheServer Client Fleet Site Trial],
                      "load/pages" => %i[Application Connection Pages PumaServer]

    # The times of a load's requests: each follows the answer to the one before, for a number of `requests` or of
    # `seconds`.
    #
    # @!attribute [r] at
    #   @return [Float, nil] monotonic seconds at which the first request is due; the clock is the same in every
    #   process
    Arrivals = Data.define(:requests, :seconds, :at) do
      def initialize(requests: nil, seconds: nil, at: nil) = super
    end

    # The order in which a process requests the entries 0...items: one after the other, again and again.
    class Keys
      def initialize(items:)
        @items = items
        @next = 0
      end

      # @return [Array<Integer>] the next entries
      def draw(count) = Array.new(count) { @next.tap { @next = (@next + 1) % @items } }
    end

    # Names and values of a load. Every process with the same parameters has the same entries.
    class Entries
      attr_reader :names

      # @param label [String] label that is part of every name
      # @param value [String, nil] a value of {Values}
      # @param article [Boolean] whether to use the second article's value: 1,001 random digits and letters
      def initialize(label:, seed:, value: nil, article: false)
        @values = article ? [figures_and_letters(seed)] : Values.fetch(value).generate(seed)
        # The names are shuffled, so that popular entries are no neighbours.
        @names = Array.new(@values.size) { |index| format("tiercel-lab:%s:%07d", label, index) }
                      .shuffle(random: Random.new(seed))
      end

      def size = names.size

      # @return [Object]
      def value(index) = @values[index % @values.size]

      # @param found [Object] the value that was read under the name of the index
      # @raise [Missed, WrongValue]
      def check(index, found)
        raise Missed, "a read of a written name found nothing" if found.nil?
        raise WrongValue, "a read returned another value than the written one" unless found == value(index)
      end

      private

      # The article's script joins an Array of characters.
      def figures_and_letters(seed)
        random = Random.new(seed)
        [Array.new(1_001) { random.rand(36).to_s(36) }.join]
      end
    end

    # The operations of a load. Each is a Proc that takes the index of an entry and returns whether it found or stored
    # a value. A Proc belongs to one store, so that its call sites see a single class.
    module Calls
      module_function

      # @param name [String] a public method of this module
      # @param subject [Subject]
      # @return [Proc]
      def of(name, subject) = public_send(name, subject.store, subject.entries)

      def read(store, entries)
        names = entries.names
        ->(index) { !store.read(names[index]).nil? }
      end

      def write(store, entries)
        names = entries.names
        ->(index) { store.write(names[index], entries.value(index)) }
      end

      # The loop of the second article.
      def exist_and_fetch(store, entries)
        names = entries.names
        lambda do |index|
          hit = true
          next false unless store.exist?(names[index])
          store.fetch(names[index]) { hit = false }
          hit
        end
      end
    end

    # Makes the requests of one process or thread.
    #
    # A driver measures `totals` (requests, hits, seconds, CPU), or additionally the nanoseconds of `each` request.
    class Driver
      # Calls between two readings of the clock, and the length of a load without a number of requests.
      CHUNK = 256
      PERIOD = 16 * CHUNK
      # The driver spins for this time, because a sleep may end half a millisecond late.
      SPIN_SECONDS = 0.0006

      # Runs a driver in each of several threads.
      #
      # @yieldparam thread [Integer]
      # @return [Array<Object>] the blocks' values
      def self.in_threads(count)
        Array.new(count) do |thread|
          Thread.new do
            Thread.current.report_on_exception = false # the value raises it
            yield thread
          end
        end.map(&:value)
      end

      # @param clock [#call] monotonic seconds
      # @param wait [#call] seconds to sleep
      def initialize(clock: -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) }, wait: method(:sleep))
        @clock = clock
        @wait = wait
      end

      # @param arrivals [Arrivals]
      # @param keys [#draw] see {Keys}
      # @param measure [String] "totals" or "each"
      # @param check [Proc, nil] takes the block's value and returns whether it is a hit. Runs outside of the timed
      #   part, and only if calls are timed one by one
      # @yieldparam index [Integer] index of the entry
      # @yieldreturn [Object] true for a hit
      # @return [Hash{Symbol => Object}]
      def run(arrivals, keys, measure: "totals", check: nil, &operation)
        plan = arrivals.seconds ? keys.draw(PERIOD).each_slice(CHUNK).to_a : keys.draw(arrivals.requests)
        late = arrivals.at && wait_until(arrivals.at)
        before = Process.times
        cpu, started = cpu_now, @clock.call
        found = closed(plan, arrivals, measure, operation, check)
        seconds = @clock.call - started
        after = Process.times
        { seconds:, cpu_seconds: cpu_now - cpu, user: after.utime - before.utime, system: after.stime - before.stime,
          late_seconds: late, **found }.compact
      end

      private

      def cpu_now = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)

      def closed(plan, arrivals, measure, operation, check)
        return one_by_one(plan, arrivals, operation, check) if measure == "each"
        requests = hits = 0
        chunks(plan, arrivals) do |chunk|
          chunk.each { |index| hits += 1 if operation.call(index) }
          requests += chunk.size
        end
        { requests:, hits: }
      end

      def one_by_one(plan, arrivals, operation, check)
        taken, hits = [], 0
        chunks(arrivals.seconds ? plan.flatten.each_slice(1) : plan, arrivals) do |chunk|
          chunk.each do |index|
            started = @clock.call
            found = operation.call(index)
            taken << ((@clock.call - started) * 1e9).round
            hits += 1 if check ? check.call(found) : found
          end
        end
        { requests: taken.size, hits:, ns: taken }
      end

      # @yieldparam chunk [Array<Integer>]
      def chunks(plan, arrivals)
        return yield plan unless arrivals.seconds
        deadline = @clock.call + arrivals.seconds
        plan.cycle do |chunk|
          yield chunk
          break if @clock.call >= deadline
        end
      end

      # Sleeps, then spins.
      #
      # @return [Float] seconds by which it is late
      def wait_until(due)
        while (left = due - @clock.call).positive?
          @wait.call(left - SPIN_SECONDS) if left > SPIN_SECONDS
        end
        -left
      end
    end

    # A contestant's store in the process that uses it, with the entries of a load.
    class Subject
      attr_reader :store, :contestant
      # @return [Entries, nil]
      attr_reader :entries
      # @return [Keys, nil]
      attr_reader :keys

      # @param text [String] text of the contestant
      # @param context [Hash] see {Engine::Context#initialize}
      # @raise [CannotRun]
      def initialize(text:, context:, entries: nil, keys: nil)
        @contestant = Contestants.parse(text)
        @entries = entries
        @keys = keys
        @context = Engine::Context.new(**context)
        @contestant.load_gems
        @store = @contestant.build(@context)
        @contestant.wait_until_ready(@store)
      end

      # @raise [WrongValue] if a write is refused
      def fill
        names = entries.names
        @contestant.filling(store, names.size) do
          names.each_with_index do |name, index|
            next if store.write(name.dup, entries.value(index))
            raise WrongValue, "the write of a value was refused"
          end
        end
      end

      # @raise [Missed, WrongValue]
      def verify
        entries.names.each_with_index { |name, index| entries.check(index, store.read(name)) }
      end

      # On the user's servers and in the user's folders it deletes every name. The lab's servers end with the run.
      def close
        @contestant.tear_down(store, entries && @contestant.foreign? ? entries.names : [])
      ensure
        @context.clean_up
      end
    end

    # The requests of one side as they were recorded: blocks of process, block, some facts of the block, and the
    # nanoseconds of each request.
    class Blocks
      # @param row [Hash{String => Object}] a row with "blocks"
      # @param facts [Integer] figures of a block; they follow the numbers of the process and the block
      def initialize(row, facts: 0)
        @blocks = row["blocks"]
        @from = 2 + facts
      end

      def any? = @blocks.any?

      # @return [Array<Integer>] durations of all requests
      def ns = @blocks.flat_map { |block| block.drop(@from) }

      # @yieldparam facts [Array<Numeric>] figures of the block
      # @yieldparam ns [Array<Integer>] durations of the block's requests
      # @yieldreturn [Float]
      # @return [Hash{Integer => Hash{Integer => Float}}] by process, then block
      def by_process
        @blocks.group_by(&:first).transform_values do |blocks|
          blocks.to_h { |block| [block[1], yield(block[2...@from], block.drop(@from))] }
        end
      end

      # @yield see {#by_process}
      # @return [Array<Float>] one figure for each block
      def figures(&) = by_process(&).values.flat_map(&:values)

      # @yield see {#by_process}
      # @return [Statistics::Interval]
      def interval(&) = Statistics::MedianInterval.of(by_process(&).values.map(&:values))

      # @param other [Blocks]
      # @yield see {#by_process}
      # @return [Statistics::Interval] the median ratio of paired blocks
      def ratio_to(other, &) = Engine::Paired.ratio(by_process(&), other.by_process(&))

      # How far two copies of the same side differ, by the more distant bound.
      #
      # @return [Float] 0.02: 2 %
      def noise_to(other, &) = Math.exp(ratio_to(other, &).map { |ratio| Math.log(ratio) }.reach) - 1.0

      # @return [Statistics::Interval] microseconds, from one figure for each process
      def quantile(share)
        each = @blocks.group_by(&:first).values.map do |blocks|
          [Statistics.quantile(blocks.flat_map { |block| block.drop(@from) }, share) / 1e3]
        end
        Statistics::MedianInterval.of_times(each)
      end
    end
  end
end
