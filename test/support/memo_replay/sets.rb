# frozen_string_literal: true

require_relative "rules"

module MemoReplay
  # Reads of sets of fragments: [key, bytes], with nil bytes for a write.
  class Sets
    KINDS = [[60, 1], [85, 4], [97, 24], [100, 100]].freeze # cumulative percent of the keys, and their KB
    MIXED = ->(key) { KINDS.find { |upto, _| key * 2_654_435_761 / 128 % 100 < upto }[1] * KB }
    LOG_UNIFORM = ->(key) { (8 * KB * (128**((key * 2_654_435_761 / 512 % 1_000) / 1_000.0))).to_i }

    def initialize(limit)
      @limit = limit
      @random = Random.new(42)
    end

    # @return [Hash{String => Array}]
    def to_h
      fit = @limit / 25 / KB
      { "24 KB x 2,000, r^3" => cubed(2_000, 60_000) { 24 * KB }, "mixed, r^3" => cubed(8_000, 100_000, &MIXED),
        "24 KB ten times, at random" => Array.new(100_000) { [@random.rand(fit * 10), 24 * KB] },
        "24 KB ten times, in turn" => Array.new(100_000) { |read| [read % (fit * 10), 24 * KB] },
        "24 KB, 90 % of the memo" => Array.new(50_000) { [@random.rand(fit * 9 / 10), 24 * KB] },
        "8 KB, twice the memo" => Array.new(100_000) { [@random.rand(@limit * 2 / 8 / KB), 8 * KB] },
        "zipf 1.0, 8 KB to 1 MB" => zipf(1.0).map { |key| [key, LOG_UNIFORM[key]] },
        "zipf 0.8, 8 KB to 1 MB" => zipf(0.8).map { |key| [key, LOG_UNIFORM[key]] },
        "zipf 1.0, a fifth scans" =>
          zipf(1.0).each_with_index.map { |key, at| [at / 250 % 5 == 0 ? at % 5_000 : key, 24 * KB] },
        "zipf 1.0, shifting" =>
          zipf(1.0).each_with_index.map { |key, at| [(key + (at / 10_000 * 500)) % 5_000, 24 * KB] },
        "zipf 1.0, a third writes" => zipf(1.0).map { |key| [key, @random.rand < 0.33 ? nil : 24 * KB] } }
    end

    private

    def cubed(keys, reads)
      Array.new(reads) { (keys * (@random.rand**3)).to_i.then { |key| [key, yield(key)] } }
    end

    def zipf(exponent, keys = 5_000)
      total = 0.0
      sums = Array.new(keys) { |rank| total += 1.0 / ((rank + 1)**exponent) }
      Array.new(100_000) { (@random.rand * total).then { |draw| sums.bsearch_index { |sum| sum >= draw } } }
    end
  end
end
