# frozen_string_literal: true

# Predicts the effect of more or less memory, and the value of each class of keys, from the sampled reads.
#
# The sample contains every read of the keys whose hash is below a threshold. The threshold falls until the keys fit
# into a fixed amount of memory (SHARDS with fixed size: Waldspurger et al., FAST'15). The sampled reads run through
# small caches with the store's own policy and a capacity reduced by the same share (miniature simulation: Waldspurger
# et al., ATC'17). Two corrections:
#
# - The misses are divided by the expected number of reads, not by the sampled number, because a few hot keys decide the
#   sampled number (SHARDS-adj). All hot keys hit at every size, so the difference belongs to the hits.
# - Misses that no size avoids (expired, deleted) are in the measured miss ratio, but not in the simulated one. A
#   prediction is therefore the measured ratio plus the simulated difference.
#
# The interval comes from 16 groups of keys.
class Tiercel::Insight::Worth
  FACTORS = [0.25, 0.5, 1.0, 2.0, 4.0, 8.0].freeze
  MOST_KEYS = 8_192
  MOST_READS = 120_000
  GROUPS = 16
  # Student's t for 15 degrees of freedom, 95 %.
  T = 2.131
  LEAST_KEYS = 200
  LEAST_READS = 2_000

  # A size: its factor, the miss ratio with its interval, and the change per request in milliseconds with its interval.
  Size = Struct.new(:factor, :miss_ratio, :low, :high, :ms, :ms_low, :ms_high)
  # The worth of a class of keys: the entries that it holds, and the time that its hits save. `ms` is per request, or
  # per 1,000 reads if there are no requests.
  ClassWorth = Struct.new(:name, :bytes, :entries, :hits, :misses, :ms, :saves_nothing, keyword_init: true)

  # LRU, as in memcached and Redis.
  class Lru
    def initialize(capacity)
      @capacity = capacity
      @entries = {}
      @used = 0
    end

    # @return [Boolean] whether the read hits; a miss stores the key
    def read(key, size)
      if (known = @entries.delete(key))
        @entries[key] = size
        @used += size - known
        return true
      end
      @entries[key] = size
      @used += size
      prune if @used > @capacity
      false
    end

    private

    def prune(most = @capacity)
      @used -= @entries.shift.last while @used > most && !@entries.empty?
    end
  end

  # A full MemoryStore drops a quarter of its bytes at once.
  class PrunedLru < Lru
    private

    def prune = super(@capacity * 0.75)
  end

  # Evicts entries in the order of their writes, as Solid Cache does.
  class Fifo < Lru
    def read(key, size)
      return true if @entries.key?(key)
      super
    end
  end

  # S3-FIFO as in Tiercel's segments: a small queue for newcomers, a main queue, and a list of recently dropped keys.
  # Each queue has its own room. Newcomers go into the main queue while only it has room.
  class S3Fifo
    MOST_HITS = 3

    def initialize(capacity)
      @small_room = @small_capacity = capacity * 0.1
      @main_room = capacity * 0.9
      @small, @main, @ghost = {}, {}, {}
    end

    # (see Lru#read)
    def read(key, size)
      if (entry = @small[key] || @main[key])
        entry[1] += 1 if entry[1] < MOST_HITS
        return true
      end
      if @ghost.delete(key) || size > @small_capacity / 4 || (size > @small_room && size <= @main_room)
        into_main(key, size)
      else
        from_small while size > @small_room && !@small.empty?
        @small[key] = [size, 0]
        @small_room -= size
      end
      false
    end

    private

    def into_main(key, size, hits = 0)
      from_main while size > @main_room && !@main.empty?
      @main[key] = [size, hits]
      @main_room -= size
    end

    def from_small
      key, (size, hits) = @small.shift
      @small_room += size
      return into_main(key, size) if hits.positive?
      @ghost[key] = true
      @ghost.shift while @ghost.size > [@main.size, 16].max
    end

    def from_main
      key, (size, hits) = @main.shift
      @main_room += size
      into_main(key, size, hits - 1) if hits.positive?
    end
  end

  POLICIES = { lru: Lru, memory_store: PrunedLru, fifo: Fifo, s3fifo: S3Fifo }.freeze

  # @return [String, nil] the reason why sizes cannot be compared; nil if they can
  attr_reader :unknown
  # @return [Array<Size>] empty if {#unknown}
  attr_reader :sizes

  # @param reads [Array<Figures::Read>] sampled reads by time
  # @param share [Float] the share of the keys that were sampled
  # @param counted [Hash{Symbol => Integer}] the number of reads that warm the simulated caches up (:warm), and all
  #   :reads, :misses and :requests after them
  # @param capacity [Capacity, nil]
  # @param costs [Hash{String => Float}] mean seconds of a miss by class
  def initialize(reads, share, counted, capacity: nil, costs: {})
    @counted = counted
    @warm_until = reads[counted[:warm]]&.at || 0
    @reads, @share = reduce(reads, share)
    @capacity = capacity
    @costs = costs
    @mean_cost = costs.empty? ? 0.0 : costs.values.sum / costs.size
    @sizes = []
    @unknown = reason
    simulate unless @unknown
  end

  # @return [Boolean] whether any request was counted
  def requests? = @counted[:requests].positive?

  # @return [Array<String>] sentences such as "512.0 MB in place of 256.0 MB: 3.1 ms less per request [2.4 to 3.9]"
  def sentences
    return [] if @unknown
    now = @capacity.limit_bytes
    sizes.reject { |size| size.factor == 1.0 }.map do |size|
      what = now ? "#{Tiercel::Insight::Text.bytes(now * size.factor)} in place of #{Tiercel::Insight::Text.bytes(now)}"
                 : "#{size.factor} times the entries"
      "#{what}: #{change(size)}, miss ratio #{percent(size)}"
    end
  end

  # @return [Array<ClassWorth>] largest first
  def classes
    sizes = sizes_of_keys
    @reads.select { |read| read.at >= @warm_until }.group_by(&:class_name).filter_map do |name, reads|
      next if reads.none?(&:hit?) && !@costs.key?(name) # absent keys, which no block computes
      keys = reads.map(&:hash).uniq
      bytes = keys.filter_map { |key| sizes[key] }
      hits = reads.count(&:hit?) / @share
      ms = hits * cost(name) * 1_000 / per
      ClassWorth.new(name:, entries: (keys.size / @share).round, hits: hits.round,
                     bytes: (bytes.sum.fdiv(bytes.size) * keys.size / @share if bytes.any?)&.round,
                     misses: (reads.count { |read| !read.hit? } / @share).round, ms:,
                     saves_nothing: reads.size >= 50 && ms < 0.001)
    end.sort_by { |one| [-(one.bytes || 0), -one.entries] }
  end

  private

  def per = requests? ? @counted[:requests] : [@counted[:reads] / 1_000.0, 1e-9].max
  def cost(name) = @costs.fetch(name, @mean_cost)

  def reason
    return "the store has no size" if @capacity.nil?
    return "cannot tell: the store is empty here; see the page in the server" if @capacity.entries.zero?
    keys = @reads.map(&:hash).uniq.size
    return if keys >= LEAST_KEYS && @reads.size >= LEAST_READS
    "cannot tell yet: #{@reads.size} sampled reads of #{keys} keys, expected #{LEAST_READS} of #{LEAST_KEYS}"
  end

  # Lowers the threshold until the keys and the reads are few enough.
  def reduce(reads, share)
    loop do
      keys = reads.map(&:hash).uniq
      return [reads, share] if keys.size <= MOST_KEYS && reads.size <= MOST_READS || keys.size < 16
      below = keys.max / 2
      share *= below.fdiv(share * (1 << 32))
      reads = reads.select { |read| read.hash < below }
    end
  end

  def sizes_of_keys
    @sizes_of_keys ||= @reads.each_with_object({}) do |read, sizes|
      sizes[read.hash] = read.bytes if read.bytes.is_a?(Integer)
    end
  end

  def simulate
    known = sizes_of_keys
    mean = known.empty? ? 1.0 : known.values.sum.fdiv(known.size)
    warm = @reads.index { |read| read.at >= @warm_until } || 0
    measured = @counted[:misses].fdiv([@counted[:reads], 1].max)
    runs = FACTORS.map { |factor| run(factor, known, mean, warm) }
    present = runs[FACTORS.index(1.0)]
    runs = runs.map { |one| with_firsts(one, present) }
    now = runs[FACTORS.index(1.0)]
    @sizes = FACTORS.zip(runs).map { |factor, one| size(factor, one, now, measured) }
  end

  # The first read of a key in the sample says little about larger sizes. If the read missed, an entry from before the
  # sample may have been evicted, or the key may never have been cached. See {#with_firsts}.
  #
  # @return [Array(Array<Float>, Array<Float>)] misses and their cost in seconds, by group of keys
  def run(factor, known, mean, warm)
    cache = POLICIES.fetch(@capacity.policy).new(@capacity.entries * mean * factor * @share)
    known_misses, first_misses = Array.new(GROUPS) { [0, 0.0] }, Array.new(GROUPS) { [0, 0.0] }
    seen = {}
    @reads.each_with_index do |read, index|
      hit = cache.read(read.hash, known.fetch(read.hash, mean))
      first = seen[read.hash].nil?
      seen[read.hash] = true
      hit ||= first && read.hit? && factor >= 1 # from before the sample began: larger caches have it too
      next if hit || index < warm
      sums = (first ? first_misses : known_misses)[(read.hash * 2_654_435_761 >> 7) % GROUPS]
      sums[0] += 1
      sums[1] += cost(read.class_name)
    end
    [known_misses, first_misses]
  end

  # If many first reads hit, keys are older than the sample. Some of the first reads that missed would then hit in a
  # larger cache. Their share is estimated from the other misses: the part of them that the larger size avoids.
  def with_firsts((known, first), (now_known, _))
    now = now_known.sum(&:first)
    avoided = now.zero? ? 0.0 : 1 - [known.sum(&:first).fdiv(now), 1.0].min
    part = 1 - (avoided * older_keys)
    [0, 1].map { |at| known.zip(first).map { |one, other| one[at] + (part * other[at]) } }
  end

  # @return [Float] estimated probability that a key whose first read missed is older than the sample, 0 to 1
  def older_keys
    @older_keys ||= begin
      firsts = @reads.select { |read| read.at >= @warm_until }.then do |late|
        early = @reads.first(@reads.size - late.size).to_h { |read| [read.hash, true] }
        late.uniq(&:hash).reject { |read| early[read.hash] }
      end
      [2 * firsts.count(&:hit?).fdiv([firsts.size, 1].max), 1.0].min
    end
  end

  def size(factor, one, now, measured)
    expected = @counted[:reads] * @share
    ratios = differences(one[0], now[0]).map { |more| more / expected }
    ms = differences(one[1], now[1]).map { |more| more * 1_000 / (@share * per) }
    ratio, around = estimate(ratios)
    change, around_ms = estimate(ms)
    Size.new(factor, (measured + ratio).clamp(0.0, 1.0), (measured + ratio - around).clamp(0.0, 1.0),
             (measured + ratio + around).clamp(0.0, 1.0), change, change - around_ms, change + around_ms)
  end

  def differences(one, now) = one.zip(now).map { |a, b| a - b }

  # @return [Array(Float, Float)] the sum over the groups, and half of the width of its 95 % interval
  def estimate(parts)
    mean = parts.sum.fdiv(GROUPS)
    deviation = Math.sqrt(parts.sum { |part| (part - mean)**2 } / (GROUPS - 1))
    [parts.sum, T * deviation * Math.sqrt(GROUPS)]
  end

  def change(size)
    of = requests? ? "per request" : "per 1,000 reads"
    return "no difference that this sample shows" if size.ms_low <= 0 && size.ms_high >= 0
    low, high = [size.ms_low.abs, size.ms_high.abs].sort
    format("%.2g ms %s %s [%.2g to %.2g]", size.ms.abs, size.ms.negative? ? "less" : "more", of, low, high)
  end

  def percent(size)
    format("%.1f %% [%.1f to %.1f]", size.miss_ratio * 100, size.low * 100, size.high * 100)
  end
end

# The number of entries in a full store, and its eviction policy.
#
# @private
Tiercel::Insight::Capacity = Struct.new(:entries, :limit_bytes, :policy) do
  # @param store [ActiveSupport::Cache::Store]
  # @return [Capacity, nil] nil if the store has no bound, or does not report its size
  def self.of(store)
    entries, bytes, limit, policy = figures(store)
    return if entries.nil? || !limit&.positive?
    new(entries.zero? || bytes.to_i.zero? ? 0 : entries * limit.fdiv(bytes), limit, policy)
  rescue StandardError
    nil
  end

  # Rails' events contain no sizes.
  #
  # @param key [String] of an entry that was read a moment ago
  # @return [Integer, nil]
  def self.bytes_of(store, key)
    case Tiercel::Insight::Doctor::Subject.new("", store).kind
    when :memory_store
      value = store.read(key, namespace: nil)
      (value.is_a?(String) ? value : Marshal.dump(value)).bytesize + key.bytesize + 240 unless value.nil?
    when :redis_cache_store then store.redis.then { |redis| redis.call("MEMORY", "USAGE", key) }
    end
  rescue StandardError
    nil
  end

  def self.figures(store)
    case Tiercel::Insight::Doctor::Subject.new("", store).kind
    when :tiercel_store then tiercel(store)
    when :memory_store
      entries, bytes = store.inspect.match(/entries=(\d+), size=(\d+)/)&.captures&.map(&:to_i)
      [entries, bytes, store.options[:size] || (32 << 20), :memory_store]
    when :mem_cache_store
      stats = store.stats.values.compact
      [*%w[curr_items bytes limit_maxbytes].map { |name| stats.sum { |one| one[name].to_i } }, :lru]
    when :redis_cache_store
      info = store.redis.then { |redis| redis.call("INFO") }.to_s.scan(/^(\w+):(.*?)\r?$/).to_h
      [info.sum { |name, value| name.match?(/\Adb\d+\z/) ? value[/keys=(\d+)/, 1].to_i : 0 }, info["used_memory"].to_i,
       info["maxmemory"].to_i, :lru]
    when :solid_cache_store
      stats = store.stats.values_at(:connection_stats).first.to_h.values.first.to_h
      [stats[:entries], ::SolidCache::Entry::Size::Estimate.new(samples: 10_000).size, store.max_size, :fifo]
    when :litecache # in MB; it drops the entries that were written first
      [store.count, *[store.size, store.max_size].map { |size| (size * (1 << 20)).to_i }, :fifo]
    end
  end

  def self.tiercel(store)
    stats = store.stats or return
    stats = stats[:tiers].values.compact.find { |tier| tier[:log_bytes] } || stats if stats[:tiers]
    log = stats[:log_bytes]
    [stats[:entries], stats[:bytes], log || stats[:size_bytes] || stats[:size], log ? :s3fifo : :lru]
  end
  private_class_method :figures, :tiercel
end
