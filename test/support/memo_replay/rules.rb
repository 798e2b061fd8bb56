# frozen_string_literal: true

module MemoReplay
  KB = 1024
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
end
