# frozen_string_literal: true

# Replays reads of one process through several admission rules for the memo, and prints the saving of each rule, in
# percent of the time without a memo. adr/020 has the results.
#
#   bin/exec ruby --yjit -Ilib test/support/memo_replay.rb        # every rule on every set
#   bin/exec ruby --yjit -Ilib test/support/memo_replay.rb FILE   # recorded reads, also through the memo itself
#
# A recording has a line "KEY BYTES" for each read that hit a String, and "KEY 0" for each write. An application records
# them with a module that it prepends to its store:
#
#   recorder = Module.new do
#     def read(name, ...) = super.tap { |value| RECORD.puts("#{name.hash} #{value.bytesize}") if value.is_a?(String) }
#     def write(name, ...) = super.tap { RECORD.puts("#{name.hash} 0") }
#   end
#   Rails.cache.singleton_class.prepend(recorder)
module MemoReplay
  KB = 1024
  # Measured times (adr/013, adr/020) in microseconds: a read without its copy, the copy of a KB, an entry.
  READ_US = 0.4
  COPY_US = 0.27
  ENTRY_US = 10.0
  # Overhead counted for each entry.
  ENTRY_BYTES = 56

  # Read counts of entries that are not kept: 16,384, in buckets of four.
  class Marks
    def initialize = @buckets = Array.new(4_096) { [] }

    # @return [Array(Integer, Integer), nil] the key and its number of reads
    def find(key) = bucket(key).find { |mark| mark[0] == key }

    def leave(key)
      bucket = bucket(key)
      bucket.size < 4 ? bucket << [key, 0] : bucket[bucket.each_index.min_by { |at| bucket[at][1] }] = [key, 0]
    end

    def remove(key) = bucket(key).delete_if { |mark| mark[0] == key }
    def halve = @buckets.each { |bucket| bucket.each { |mark| mark[1] /= 2 } }

    private

    def bucket(key) = @buckets[(key * 0x9e3779b97f4a7c15 >> 20) % @buckets.size]
  end

  # Every value that is read a second time enters; a hand keeps the entries that were hit since its last pass.
  class SecondRead
    attr_reader :hits, :saved_kb, :entries

    def initialize(limit, least)
      @limit, @least = limit, least
      @used = @hits = @entries = 0
      @saved_kb = 0.0
      @kept, @wanted, @ring, @marks = {}, {}, [], Marks.new
    end

    def write(key)
      @kept.key?(key) ? drop(key) : @marks.remove(key)
    end

    def read(key, bytes)
      return if bytes < @least || bytes > @limit / 4
      return miss(key, bytes) unless @kept.key?(key)
      @hits += 1
      @saved_kb += bytes.fdiv(KB)
      hit(key, bytes)
    end

    private

    def hit(key, _bytes) = @wanted[key] = [@wanted[key] + 1, 3].min

    def miss(key, bytes)
      keep(key, bytes) if counted(key).positive? && room_for?(bytes)
    end

    # @return [Integer] number of earlier reads of the key
    def counted(key)
      mark = @marks.find(key)
      mark ? mark[1] += 1 : @marks.leave(key) && 0
    end

    def keep(key, bytes)
      @entries += 1
      @used += bytes + ENTRY_BYTES
      @kept[key], @wanted[key] = bytes, 1
      @ring << key
      @marks.remove(key)
    end

    def drop(key)
      @used -= @kept.delete(key) + ENTRY_BYTES
      @wanted.delete(key)
    end

    def fits?(bytes) = @used + bytes + ENTRY_BYTES <= @limit

    def room_for?(bytes)
      64.times do
        return true if fits?(bytes)
        key = @ring.shift
        next unless @kept.key?(key)
        @wanted[key].zero? ? drop(key) : (@wanted[key] -= 1) && @ring << key
      end
      fits?(bytes)
    end
  end

  # The rule until 2026-11-22, without its pauses: each hit earns two credits and each candidate one, and evictions
  # spend them.
  class Credit < SecondRead
    private

    def hit(...) = super.tap { earn(2) }
    def earn(credit) = @credit = [@credit.to_i + credit, 1_024].min

    def miss(key, bytes)
      return unless counted(key).positive?
      return keep(key, bytes) if fits?(bytes)
      price = (512 * KB / bytes).clamp(32, 512)
      return if earn(1) < price
      @credit -= price
      keep(key, bytes) if room_for?(bytes)
    end
  end

  # A value enters once its copies have cost as much as an entry (the ski rental problem).
  class Rent < SecondRead
    private

    def miss(key, bytes)
      keep(key, bytes) if counted(key) * bytes >= 36 * KB && room_for?(bytes)
    end
  end

  # A hit earns its bytes, and another read earns a 64th of them. An entry costs twice its cost for the garbage
  # collector.
  class Account < SecondRead
    PRICE = 72 * KB

    private

    def hit(key, bytes) = super.tap { earn(bytes) }
    def most = @most ||= PRICE * [@limit / @least, 1].max
    def earn(bytes) = @account = [(@account || most) + bytes, most].min

    def miss(key, bytes)
      earn(bytes / 64)
      return unless counted(key).positive? && @account >= PRICE && room_for?(bytes)
      @account -= PRICE
      keep(key, bytes)
    end
  end

  # The memo's rule: compares the copies of the candidate with the price of an entry and the savings of the evicted
  # ones.
  class Weighed < SecondRead
    PRICE = 36 * KB
    PERIOD = 384 << 20

    private

    def price = PRICE
    def period = PERIOD

    def hit(key, bytes)
      @wanted[key] += 1
      tick(bytes)
    end

    def miss(key, bytes)
      tick(bytes)
      reads = counted(key)
      worth = reads * bytes
      return if worth < price
      leaving = fits?(bytes) ? [] : those_that_leave(bytes, worth - price)
      return @ring.rotate! unless leaving
      leaving.each { |other| drop(other) }
      keep(key, bytes)
      @wanted[key] = reads
    end

    # @return [Array<Integer>, nil] the entries to evict, beginning at the clock hand; nil if these entries save more
    def those_that_leave(bytes, worth)
      @ring.shift until @kept.key?(@ring.first)
      room = @limit - @used - bytes - ENTRY_BYTES
      @ring.each_with_object([]) do |key, leaving|
        next unless @kept.key?(key) && !leaving.include?(key)
        worth -= @wanted[key] * @kept[key]
        return if worth.negative?
        leaving << key
        return leaving if (room += @kept[key] + ENTRY_BYTES) >= 0
      end
      nil
    end

    def tick(bytes)
      @ticks = @ticks.to_i + bytes
      return if @ticks < period
      @ticks = 0
      @wanted.transform_values! { |reads| reads / 2 }
      @marks.halve
    end
  end

  # Variants of the rule Weighed with another price or period.
  HalfPrice = Class.new(Weighed) { define_method(:price) { 18 * KB } }
  DoublePrice = Class.new(Weighed) { define_method(:price) { 72 * KB } }
  ShortPeriod = Class.new(Weighed) { define_method(:period) { 96 << 20 } }
  RULES = { "second" => SecondRead, "credit" => Credit, "rent" => Rent, "account" => Account, "weighed" => Weighed,
            "price/2" => HalfPrice, "price*2" => DoublePrice, "96 MB" => ShortPeriod }.freeze

  # The memo itself: the same reads on a segment with room for all entries.
  class Itself
    # The segment divides its room, so it needs several times the entries' size.
    ROOM = 4
    # Share of Strings that the memo keeps by default; with `memo:` it keeps shorter ones too.
    LEAST = 8 * KB

    # @param limit [Integer] bytes of the memo
    # @param reads [Array<Array(Integer, Integer)>] key and bytes; nil: a write
    def initialize(limit, reads)
      @limit = limit
      @reads = reads.select { |_, bytes| bytes.nil? || bytes.between?(LEAST, limit / 4) }
    end

    # @return [Integer] hits of the memo
    def hits
      require "tmpdir"
      require "tiercel"
      Dir.mktmpdir { |folder| replay(folder) }
    end

    private

    def replay(folder)
      bytes = @reads.filter_map { |key, size| [key, size] if size }.to_h
      room = [bytes.each_value.sum * ROOM, 16 << 20].max
      store = Tiercel.new("shared:#{folder}/segment", size: room, memo: @limit, compress: false)
      write = ->(key) { store.write(key.to_s, "x" * bytes[key]) if bytes[key] }
      bytes.each_key(&write)
      @reads.each { |key, size| size ? store.read(key.to_s) : write.call(key) }
      store.stats[:memo_hits]
    ensure
      store&.backend&.close
    end
  end

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

  def self.replayed(rule, limit, reads)
    rule.new(limit, 8 * KB).tap do |memo|
      reads.each { |key, bytes| bytes ? memo.read(key, bytes) : memo.write(key) }
    end
  end

  def self.saving(rule, limit, reads)
    memo = replayed(rule, limit, reads)
    whole = reads.sum { |_, bytes| READ_US + (bytes.to_i.fdiv(KB) * COPY_US) }
    100 * ((memo.saved_kb * COPY_US) - (memo.entries * ENTRY_US)) / whole
  end

  def self.recorded(path)
    numbers = Hash.new { |known, key| known[key] = known.size }
    reads = File.foreach(path).map do |line|
      key, bytes = line.split
      [numbers[key], bytes == "0" ? nil : Integer(bytes)]
    end
    { File.basename(path) => reads }
  end

  def self.hits_in_words(limit, reads)
    share = ->(hits) { format("%.1f %%", 100.0 * hits / reads.count { |_, bytes| bytes }) }
    "Hits: #{share.call(Itself.new(limit, reads).hits)} of the reads by the memo itself, " \
      "#{share.call(replayed(Weighed, limit, reads).hits)} by its rule (weighed)."
  end

  def self.run(path = nil)
    [3.2, 16].each do |megabytes|
      limit = (megabytes * KB * KB).to_i
      puts "", "| #{megabytes} MB | #{RULES.keys.join(" | ")} |", "| --- |#{" ---: |" * RULES.size}"
      (path ? recorded(path) : Sets.new(limit).to_h).each do |name, reads|
        puts "| #{name} | #{RULES.each_value.map { |rule| format("%.1f", saving(rule, limit, reads)) }.join(" | ")} |"
        puts "", hits_in_words(limit, reads) if path
      end
    end
  end
end

MemoReplay.run(*ARGV) if $PROGRAM_NAME == __FILE__
