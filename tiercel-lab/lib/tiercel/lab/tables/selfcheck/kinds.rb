# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Selfcheck
        # A kind of known work: its words, its contestants, the right verdicts, and the share of recordings that must
        # have a right verdict.
        #
        # @!attribute [r] wrong
        #   @return [Array<String>] verdicts that none may have
        # @!attribute [r] extra_ns
        #   @return [Float, nil] the known extra cost of a call, compared with the baseline
        Kind = Data.define(:name, :words, :baseline, :contestant, :right, :wrong, :share, :extra_ns)

        # A call takes 1.0 to 1.7 times as long as a read of 1 KB by MemoryStore on the same machine.
        STEPS = 400
        WORK = "steps:#{STEPS}".freeze
        # A read allocates objects, so that there is garbage to collect.
        GARBAGE = "steps:100#garbage=4"
        EVERY = 40_000
        PAUSE_MS = 60
        PAUSE_NS = PAUSE_MS * 1e6 / EVERY
        PAUSING = "#{WORK}#every=#{EVERY},pause_ms=#{PAUSE_MS}".freeze

        KINDS = [
          Kind.new("same", "the same once more", WORK, "again=#{WORK}", %w[same cannot_tell],
                   %w[faster slower uneven], 1.0, 0.0),
          Kind.new("planted", "5 % more", WORK, "steps:#{STEPS * 21 / 20}", %w[slower], %w[faster same], 0.9, nil),
          Kind.new("twenty", "20 % more", WORK, "steps:#{STEPS * 12 / 10}", %w[slower], %w[faster same], 0.75, nil),
          Kind.new("pause", "60 ms of work every 40,000 calls", WORK, PAUSING, %w[slower uneven], %w[faster same], 0.9,
                   PAUSE_NS),
          Kind.new("sleep", "60 ms asleep every 40,000 calls", WORK, "#{PAUSING},asleep=true", %w[slower uneven],
                   %w[faster same], 0.9, PAUSE_NS),
          Kind.new("kept", "1.5 million kept objects", GARBAGE, "#{GARBAGE},kept=1500000", %w[slower], %w[faster same],
                   1.0, nil)
        ].to_h { |kind| [kind.name, kind] }.freeze
      end
    end
  end
end
