# frozen_string_literal: true

# Predicts the effect of more or less memory, and the value of each class of keys, from the sampled reads.
#
# The sample contains every read of the keys whose hash is below a threshold. The threshold falls until the keys fit
# into a fixed amount of memory (SHARDS with fixed size: Waldspurger et al., FAST'15). The sampled reads run through
# small caches with the store's own policy, the entries' TTLs and a capacity reduced by the same share (miniature
# simulation: Waldspurger et al., ATC'17). Two corrections:
#
# - A few hot keys decide the number of sampled reads, but not the number of misses. So the simulated misses are not
#   divided by the sampled reads (SHARDS-adj does this, too), but compared with the sampled misses: the number of all
#   misses is known (a ratio estimator: Cochran, Sampling Techniques, 1977).
# - Misses that no size avoids (deleted keys) are in the measured miss ratio, but not in the simulated one. A prediction
#   is therefore the measured ratio plus the simulated difference.
#
# The interval has two parts: how much 16 groups of keys differ (jackknife), and half of the simulation's own error at
# the present size.
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

  # LRU, as in memcached and Redis. A full MemoryStore drops its expired entries, and then others until a quarter of its
  # room is free. Solid Cache (:fifo) evicts entries in the order of their writes.
  class Lru
    def initialize(capacity, _share = 1.0, policy = :lru)
      @capacity, @policy = capacity, policy
      @entries = {}
      @used = 0
    end

    # @param expires_at [Numeric] if the read misses
    # @return [Boolean] whether the read hits; a miss stores the key
    def read(key, size, now = 0, expires_at = Float::INFINITY)
      known_size, known_expiry = @entries[key]
      hit = known_size && known_expiry > now
      return true if hit && @policy == :fifo
      @entries.delete(key)
      @entries[key] = [size, hit ? known_expiry : expires_at]
      @used += size - known_size.to_i
      prune(now) if @used > @capacity
      hit
    end

    private

    def prune(now)
      room = @capacity * (@policy == :memory_store ? 0.75 : 1)
      @entries.delete_if { |_, (size, expires_at)| expires_at <= now && @used -= size } if room < @capacity
      @used -= @entries.shift.last.first while @used > room && !@entries.empty?
    end
  end

  # S3-FIFO as in Tiercel's segments: a small queue for newcomers, a main queue, and a list of recently dropped keys.
  # Each queue has its own room. Newcomers go into the main queue while only it has room, and if they fill more than a
  # quarter of the real small queue, or more than the simulated one.
  class S3Fifo
    MOST_HITS = 3

    def initialize(capacity, share = 1.0, *)
      @small_room = @small_capacity = capacity * 0.1
      @main_room = capacity * 0.9
      @large = [@small_capacity / 4 / share, @small_capacity].min
      @small, @main, @ghost = {}, {}, {}
    end

    # (see Lru#read)
    def read(key, size, now = 0, expires_at = Float::INFINITY)
      @now = now
      if (entry = @small[key] || @main[key])
        entry[1] += 1 if entry[1] < MOST_HITS
        return true if entry[2] > now
        entry[2] = expires_at
        return false
      end
      entry = [size, 0, expires_at]
      return into_main(key, entry) if @ghost.delete(key) || size > @large || (size > @small_room && size <= @main_room)
      from_small while size > @small_room && !@small.empty?
      @small[key] = entry
      @small_room -= size
      false
    end

    private

    def into_main(key, entry)
      from_main while entry[0] > @main_room && !@main.empty?
      @main[key] = entry
      @main_room -= entry[0]
      false
    end

    def from_small
      key, (size, hits, expires_at) = @small.shift
      @small_room += size
      return if expires_at <= @now
      return into_main(key, [size, 0, expires_at]) if hits.positive?
      @ghost[key] = true
      @ghost.shift while @ghost.size > [@main.size, 16].max
    end

    def from_main
      key, (size, hits, expires_at) = @main.shift
      @main_room += size
      into_main(key, [size, hits - 1, expires_at]) if hits.positive? && expires_at > @now
    end
  end

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

  # @return [Hash{Integer => Numeric}] by key: the milliseconds from the write of an entry until its expiry. A key of
  #   which this is unknown has the TTL of its class
  def ttls_of_keys
    written, ttls, of_class = {}, {}, {}
    @reads.each do |read|
      written[read.hash] = read.at unless read.hit?
      next unless read.ttl || read.hit?
      before = read.hit? ? read.at - written.fetch(read.hash, read.at) : 0
      ttls[read.hash] = read.ttl ? (read.ttl * 1_000) + before : ttls[read.hash] || Float::INFINITY
      of_class[read.class_name] = ttls[read.hash]
    end
    @reads.each { |read| ttls[read.hash] ||= of_class[read.class_name] || Float::INFINITY }
    ttls
  end

  def simulate
    known, ttls = sizes_of_keys, ttls_of_keys
    mean = known.empty? ? 1.0 : known.values.sum.fdiv(known.size)
    warm = @reads.index { |read| read.at >= @warm_until } || 0
    really = by_group(@reads.drop(warm).reject(&:hit?))
    runs = FACTORS.to_h { |factor| [factor, by_group(run(factor, known, ttls, mean, warm))] }
    @sizes = runs.map { |factor, one| size(factor, one, runs[1.0], really) }
  end

  # @param misses [Array<Figures::Read>]
  # @return [Array(Array<Integer>, Array<Float>)] their number and their cost in seconds, by group of keys
  def by_group(misses)
    groups = misses.group_by { |read| (read.hash * 2_654_435_761 >> 7) % GROUPS }
    groups = Array.new(GROUPS) { |group| groups.fetch(group, []) }
    [groups.map(&:size), groups.map { |reads| reads.sum(0.0) { |read| cost(read.class_name) } }]
  end

  # @return [Array<Figures::Read>] the reads that miss
  def run(factor, known, ttls, mean, warm)
    policy = @capacity.policy
    cache = (policy == :s3fifo ? S3Fifo : Lru).new(@capacity.entries * mean * factor * @share, @share, policy)
    seen = {}
    @reads.each_with_index.filter_map do |read, index|
      hit = cache.read(read.hash, known.fetch(read.hash, mean), read.at, read.at + ttls[read.hash])
      # If the first read of a key hits, its entry is from before the sample: larger caches have it, too.
      hit ||= read.hit? && factor >= 1 && !seen[read.hash]
      seen[read.hash] = true
      read unless hit || index < warm
    end
  end

  def size(factor, one, now, sampled)
    measured = @counted[:misses].fdiv([@counted[:reads], 1].max)
    enough = sampled[0].sum >= 100 && @counted[:misses].positive?
    scale = enough ? @counted[:misses].fdiv(sampled[0].sum) : 1 / @share
    ratio, around = estimate(one[0], now[0], sampled[0], scale / [@counted[:reads], 1].max)
    ms, around_ms = estimate(one[1], now[1], sampled[1], scale * 1_000 / per)
    Size.new(factor, *[ratio, ratio - around, ratio + around].map { |more| (measured + more).clamp(0.0, 1.0) },
             ms, ms - around_ms, ms + around_ms)
  end

  # @param sampled [Array<Numeric>] what really happened, by group, as `one` and `now`
  # @param scale [Float] of a sampled miss to the result's unit
  # @return [Array(Float, Float)] the change, and half of the width of its 95 % interval
  def estimate(one, now, sampled, scale)
    changes = one.zip(now).map { |a, b| a - b }
    part = changes.sum.fdiv([sampled.sum, 1e-9].max)
    squares = changes.zip(sampled).sum { |change, really| (change - (part * really))**2 }
    error = changes.sum.zero? ? 0 : (now.sum - sampled.sum) / 2.0
    [changes.sum * scale, Math.hypot(T * Math.sqrt(squares.fdiv(GROUPS - 1) * GROUPS), error) * scale]
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
