# frozen_string_literal: true

require_relative "../operations/operation"
require_relative "../statistics"

module Tiercel
  module Lab
    module Engine
      # How a measurement is made: every constant of the method, with its reason. Figures in the comments were measured
      # on a shared machine of two cores.
      #
      # - `name`: "full" or "quick"
      # - `processes`: fresh ones per value; even, so that slot orders balance; `most_processes`: how far a cell goes on
      #   that these did not decide (nil: not at all; see {Statistics::Looks})
      # - `blocks`: per process and cell; `slice_ns`: what a slice is calibrated to take
      # - `equality`: whether "same" may be said; `threshold`: least margin, whatever the medium (nil: by {MARGINS})
      # - `budget_seconds`: what a run shall not take longer than: a comparison that is behind stops after
      #   {LEAST_BLOCKS} blocks, and none goes on beyond it (nil: it takes what it takes)
      Protocol = Data.define(:name, :processes, :most_processes, :blocks, :slice_ns, :equality, :threshold,
                             :budget_seconds) do
        def quick? = name == "quick"

        # Fixed by the media alone: noise widens no margin. A quick run, which never says "same", asks for more where
        # the same code differed from itself.
        #
        # @param media [Array<Symbol>] of the two arms compared
        # @param floor [Float, nil] the noise floor
        # @return [Float] see {Statistics::Verdict}
        def margin_for(media, floor: nil)
          margin = threshold || media.map { |medium| Protocol::MARGINS.fetch(medium) }.max
          equality ? margin : [margin, Protocol::FLOORS * floor.to_f].max
        end

        # @param median [Statistics::Interval] of ratios
        # @param mean [Statistics::Interval] of ratios; what has only one interval is judged by that
        # @return [Symbol] see {Statistics::Verdict}
        def verdict(median, mean = median, margin:) = Statistics::Verdict.by_both(median, mean, margin:, equality:)

        # @return [Statistics::Looks]
        def looks = Statistics::Looks.new(first: processes, most: most_processes || processes)

        # See {Statistics::Looks#needed}; a quick run decides only what is clear, and does not say.
        def needed(interval, processes, distance:)
          looks.needed(interval, processes, distance:, most: Protocol::PATIENCE_PROCESSES) if equality
        end

        def to_h = super.transform_keys(&:to_s)

        # @return [String] for a plan
        def size_words
          most = " (to #{looks.sizes.last} where cells are undecided)" if looks.sizes.size > 1
          "#{processes} processes#{most} x #{blocks} blocks"
        end
      end

      class Protocol
        # @param hash [Hash{String => Object}] of a run's results; older ones say less
        # @return [Protocol]
        def self.from(hash)
          known = hash.transform_keys(&:to_sym).slice(*members)
          (known[:name] == QUICK.name ? QUICK : FULL).with(most_processes: nil, **known)
        end

        # Between fresh processes the same code differs by 1.8 % (addresses, hash seed, JIT), and inside one process
        # the order of the arms alone makes 6 %: so several processes, an even number, every second one with the
        # arms built in the reverse order of the one before. Six decide what is clear; a planted difference of 5 % was
        # found by 24 in each of 1,000 draws on a machine whose blocks differed by 9 % (adr/010). An arm runs for 0.34 s
        # in each process: a cost that comes more rarely is not seen.
        FULL = new(name: "full", processes: 6, most_processes: 24, blocks: 14, slice_ns: 12_000_000, equality: true,
                   threshold: nil, budget_seconds: nil)

        # A quick run is for looking: it says faster or slower only beyond 10 % or twice its floor, and gates nothing.
        QUICK = new(name: "quick", processes: 4, most_processes: nil, blocks: 5, slice_ns: 8_000_000, equality: false,
                    threshold: 0.10, budget_seconds: 150)

        # Differences within these are of no interest, and within the repeatability of each medium.
        MARGINS = { process: 0.02, loopback: 0.05, disk: 0.10, remote: 0.10 }.freeze

        # A quick run's verdict needs a difference of this many times what the same code differed by from itself in it.
        FLOORS = 2.0

        # More processes than these are nobody's to wait for: what would need them is at its margin.
        PATIENCE_PROCESSES = 200

        # Calls before anything is measured: YJIT compiles a method at its 30th call. Fixed, never "until stable":
        # runs would then differ in their warm-up.
        WARM_UP_CALLS = 64
        # Slow operations (many ms a call) are warm in fewer; the bound is on the time, in whole calls, at least 4.
        WARM_UP_SECONDS = 0.15
        WARM_UP_LEAST = 4
        # Times that the warm-up of a store with tiers goes through all keys, however long that takes: in the first,
        # what tells of changes begins, and ends what was filled before; the next fills all that is left. (In 64 calls
        # most reads go to the last tier: a slice that is as long as these say has too few near hits in it.)
        WARM_UP_PASSES = 2

        # An object that has survived so many collections is old (RVALUE_OLD_AGE of Ruby). Without them, 1.5 million
        # kept objects cost a read 4.6 us of collection in the first 0.2 s, and 0.6 us from then on.
        AGEING_COLLECTIONS = 3

        # A median of fewer than two blocks a process is none.
        LEAST_BLOCKS = 2

        # Fewer calls than this on a socket are at the mercy of one wake-up of the server...
        NETWORK_CALLS = 50
        # ...but a slice must not grow beyond this to reach them.
        SLICE_MOST_NS = 60_000_000

        # Calls made before each slice, untimed, as a share of its own: the arm before has filled the CPU's caches with
        # its own. (Without, a FileStore arm made its neighbours 20 % slower in slices of 0.5 ms.)
        LEAD_IN = 1 / 16r

        # Calls whose objects are counted; the count of none is subtracted.
        ALLOCATION_CALLS = 50

        # A worker that does not answer within this is ended, and its cells say so; other jobs' calls are longer.
        ANSWER_SECONDS = 120
        JOB_SECONDS = 300

        # Above this share of its time on the CPU a client on a socket measures itself more than its server.
        SATURATED_SHARE = 0.8
        # Shares of a cell's time that others took from us, above which the cell is flagged.
        STEAL_SHARE = 0.02
        PRESSURE_SHARE = 0.10

        # A round in which others took more than this of the workers' time is made again.
        DISTURBED_SHARE = 0.05

        # For the plan's times: starting a worker, and what a block costs beside its slices.
        WORKER_SECONDS = 0.8
        BLOCK_SECONDS = 0.01
        # Seconds to build, fill, warm up, verify and count objects, an arm.
        PREPARE_SECONDS = 0.12
        # Large values: few calls a slice, so slices overshoot, and warm-up takes its bound.
        LARGE_FACTOR = 2.0
      end
    end
  end
end
