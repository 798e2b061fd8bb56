# frozen_string_literal: true

module Tiercel::Lab
  module Engine
    # The method of a measurement: every constant with its reason. The figures in these comments come from a shared
    # machine with two cores.
    #
    # - `name`: "full" or "quick"
    # - `processes`: fresh ones for each value, an even number, so that orders balance; `most_processes`: the limit
    #   for undecided cells (nil: no additional processes; see {Statistics::InterimAnalyses})
    # - `blocks`: of each process and cell; `slice_ns`: the intended length of a slice
    # - `equality`: whether the verdict "same" exists; `threshold`: the margin of all media (nil: see {MARGINS})
    # - `budget_seconds`: the time limit of a run (nil: none). A late run makes fewer processes, see {Measurement}
    Protocol = Data.define(:name, :processes, :most_processes, :blocks, :slice_ns, :equality, :threshold,
                           :budget_seconds) do
      def quick? = name == "quick"

      # @param process [Integer]
      # @return [Float] the length of an arm's unrecorded run before its first slice, in slices
      def head_start(process)
        quick? ? Protocol::QUICK_HEAD_START : Slots.head_start(process, most: blocks * Protocol::HEAD_START)
      end

      # @param medium [Symbol] of an arm
      # @return [Integer] see {GARBAGE_BYTES}
      def garbage_bytes(medium) = quick? && medium != :process ? 0 : Protocol::GARBAGE_BYTES

      # @return [Float] the average number of slices of an arm in a process, with its head start
      def slices = (blocks * 2.0) + (quick? ? Protocol::QUICK_HEAD_START : blocks * Protocol::HEAD_START / 2)

      # The medium alone fixes the margin; noise does not widen it. A quick run has no verdict "same", and widens its
      # margin to twice its noise floor.
      #
      # @param media [Array<Symbol>] media of the two compared arms
      # @param floor [Float, nil] the noise floor
      # @return [Float] see {Statistics::Verdict}
      def margin_for(media, floor: nil)
        margin = threshold || media.map { |medium| Protocol::MARGINS.fetch(medium) }.max
        equality ? margin : [margin, Protocol::FLOORS * floor.to_f].max
      end

      # @param median [Statistics::Interval] median of the ratios
      # @param mean [Statistics::Interval] mean of the ratios; figures with a single interval use that one for both
      # @return [Symbol] see {Statistics::Verdict}
      # @param floor [Float, nil] the noise floor; a smaller difference is no difference, in every form of run
      def verdict(median, mean = median, margin:, floor: nil)
        word = Statistics::Verdict.by_both(median, mean, margin:, equality:)
        return word if floor.nil? || %i[same cannot_tell].include?(word)
        Protocol.noise?(median.estimate, floor) && Protocol.noise?(mean.estimate, floor) ? :cannot_tell : word
      end

      # @return [Statistics::InterimAnalyses]
      def analyses = Statistics::InterimAnalyses.new(first: processes, most: most_processes || processes)

      # See {Statistics::InterimAnalyses#needed}; nil for a quick run.
      def needed(interval, processes, distance:)
        analyses.needed(interval, processes, distance:, most: Protocol::PATIENCE_PROCESSES) if equality
      end

      def to_h = super.transform_keys(&:to_s)

      # @return [String] the size of the measurement, for plans and reports
      def size_words
        most = " (to #{analyses.sizes.last} where cells are undecided)" if analyses.sizes.size > 1
        "#{processes} processes#{most} x #{blocks} blocks"
      end
    end

    class Protocol
      # If two copies of one arm differ by more than this share, the noise floor itself is imprecise and counts twice.
      FLOOR_MOST = 0.5

      # @param ratio [Float]
      # @param floor [Float]
      # @return [Boolean] whether two copies of one arm differ as much
      def self.noise?(ratio, floor) = ratio.between?(1.0 / noise_factor(floor), noise_factor(floor))

      # @return [Float] ratios up to this one may be noise
      def self.noise_factor(floor) = (1.0 + floor)**(floor > FLOOR_MOST ? 2 : 1)

      # @param hash [Hash{String => Object}] the protocol in a run's results; older results lack some members
      # @return [Protocol]
      def self.from(hash)
        known = hash.transform_keys(&:to_sym).slice(*members)
        (known[:name] == QUICK.name ? QUICK : FULL).with(most_processes: nil, **known)
      end

      # Fresh processes with the same code differ by 1.8 % (addresses, hash seed, JIT). The order of the arms inside one
      # process makes a difference of 6 %. Therefore several processes are used, an even number; every second one has
      # the reverse order. Six decide clear cases. With 24, on a machine whose blocks differed by 9 %, each of 1,000
      # draws found a planted difference of 5 % (adr/010). An arm records 0.38 s in each process, after a head start of
      # up to 0.48 s. A cost that comes less often than every 0.5 s may therefore stay unseen.
      FULL = new(name: "full", processes: 6, most_processes: 24, blocks: 16, slice_ns: 12_000_000, equality: true,
                 threshold: nil, budget_seconds: nil)

      # A quick run is for a first impression: its verdicts need a difference of 10 % and of twice the noise floor.
      # With eight blocks, up to two of 18 ratios differed by more than 15 % from a full run's (adr/010-verdicts.md).
      QUICK = new(name: "quick", processes: 4, most_processes: nil, blocks: 8, slice_ns: 8_000_000, equality: false,
                  threshold: 0.10, budget_seconds: 150)

      # Differences within these margins have no practical importance, and lie within each medium's repeatability.
      MARGINS = { process: 0.02, loopback: 0.05, disk: 0.10, remote: 0.10 }.freeze

      # A quick run's verdict needs a difference of this many noise floors.
      FLOORS = 2.0

      # A ratio that would need more processes than this is too close to its margin.
      PATIENCE_PROCESSES = 200

      # Calls before the first measurement: YJIT compiles a method at its 30th call. The number is fixed, because runs
      # that wait "until stable" would differ in their warm-up.
      WARM_UP_CALLS = 64
      # Slow operations stop their warm-up after this time, but not before 4 calls.
      WARM_UP_SECONDS = 0.15
      WARM_UP_LEAST = 4
      # The warm-up of a store with tiers reads all keys this many times, regardless of time. During the first pass
      # the listener connects and drops earlier copies; the second pass fills the near tier. After 64 calls most reads
      # would still go to the last tier.
      WARM_UP_PASSES = 2

      # Before the first process calibrates an arm, the arm goes through all its names this many times, for at most
      # WARM_UP_SECONDS. Without it, a slice of a fetch of 24 KB over 500 names had 244 calls in place of 60,000.
      SETTLING_PASSES = 4

      # Number of collections after which Ruby counts an object as old (RVALUE_OLD_AGE). Without them, 1.5 million
      # kept objects cost a read 4.6 us of collection during the first 0.2 s, and 0.6 us afterwards.
      AGEING_COLLECTIONS = 3

      # Ruby collects at the latest after Strings of this many bytes (its RUBY_GC_MALLOC_LIMIT_MAX).
      COLLECTED_BYTES = 32 * 1024 * 1024
      # The most garbage of a process. Ruby counts new garbage less what the lazy sweep frees meanwhile, so more than
      # COLLECTED_BYTES accumulate: up to 87 MB in reads of 2 KB. A process touches this memory only once, but a new
      # page takes 3 to 12 us on some systems. During the first tenth of a second, reads of 1 KB by `shared:` then took
      # 3 to 12 us instead of 0.3 us, and writes of 50 rows 25 us instead of 15. A quick run touches the memory only for
      # stores inside the process, whose calls are that short.
      GARBAGE_BYTES = 3 * COLLECTED_BYTES
      # The collector marks all objects when more bytes than a limit were allocated and not freed. Ruby begins with a
      # limit of 16 MB and raises it by a fifth each time, to at most 128 MB (its RUBY_GC_OLDMALLOC_LIMIT_MAX). Workers
      # begin with 128 MB, as a process that has run for a while. With a limit of 80 MB, one process of four that read
      # 2 KB had a full mark in its recording: it takes 20 ms, and the reads of a quick run were 20 to 30 % dearer.
      COLLECTOR = { "RUBY_GC_OLDMALLOC_LIMIT" => (4 * COLLECTED_BYTES).to_s }.freeze
      # The length of the Strings that touch this memory. malloc maps Strings of 128 KB and more separately.
      GARBAGE_PIECE = 64 * 1024

      # A cell is plain, and needs no more processes, if each block so far takes at least this many times the
      # baseline's time, or the baseline's at least this many times its own.
      PLAIN = 2.0

      # Minimum number of calls in a slice on a socket: with fewer, a single late wake-up of the server would dominate.
      NETWORK_CALLS = 50
      # Maximum length of a slice, even if it then has fewer calls than NETWORK_CALLS.
      SLICE_MOST_NS = 60_000_000

      # Untimed calls before each slice, as a share of its calls. These calls refill the CPU's caches after the previous
      # arm. (Without them a FileStore arm slowed its neighbours by 20 % in slices of 0.5 ms.)
      LEAD_IN = 1 / 16r

      # The longest head start, in slices for each block; see {Slots.head_start}. The head start exceeds the two
      # recorded slices, so that some processes also record a pause that comes once in 45 slices.
      HEAD_START = 2.5
      # A quick run does not look for rare costs. A store copies its first 16 MB within two slices. The collection after
      # them is the most expensive one of a forked process, because it copies the pages that the fork shares.
      QUICK_HEAD_START = 2.0

      # Calls in the pass that counts objects. The loop's own objects are subtracted.
      ALLOCATION_CALLS = 50

      # The lab stops an arm, or another process, that does not answer within this time, and its cells say so.
      ARM_SECONDS = 100
      JOB_SECONDS = 300

      # A client on a socket that uses more CPU than this share measures itself rather than its server.
      SATURATED_SHARE = 0.8
      # Shares of a cell's time that other programs took, above which the report warns.
      STEAL_SHARE = 0.02
      PRESSURE_SHARE = 0.10

      # A round is repeated if other programs took more than this share of its workers' time.
      DISTURBED_SHARE = 0.05

      # For estimates: the start of a worker, and the overhead of a block.
      WORKER_SECONDS = 0.8
      BLOCK_SECONDS = 0.01
      # For estimates: seconds to fork, build, fill, warm up, verify and end one arm (0.22 to 0.32 in both forms).
      PREPARE_SECONDS = 0.3
      # For estimates: large values have long calls, so slices and warm-up take their longest.
      LARGE_FACTOR = 2.0
    end
  end
end
