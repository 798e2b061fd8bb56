# frozen_string_literal: true

# Predicts the effect of more or less memory, and the value of each class of keys, from the sampled reads and writes.
#
# The sample contains every read of the keys whose hash is below a threshold, and their writes but for those that fill
# a miss. The threshold falls until the keys fit into a fixed amount of memory (SHARDS with fixed size: Waldspurger et
# al., FAST'15). The sampled calls run through small caches with the store's own policy, the entries' sizes and TTLs,
# and a capacity reduced by the same share (miniature simulation: Waldspurger et al., ATC'17). Two corrections:
#
# - A few hot keys decide the number of sampled reads, but not the number of misses. So the simulated misses are not
#   divided by the sampled reads (SHARDS-adj does this, too), but compared with the sampled misses: the number of all
#   misses is known (a ratio estimator: Cochran, Sampling Techniques, 1977, chapter 6).
# - The sampled keys fill more or less than their share of the cache. The number of all reads corrects the capacity (a
#   regression estimator: Cochran, chapter 7), and then the real misses of the sampled keys do (one Gauss-Newton step).
#
# The costs of misses are those of the sampled keys' own blocks, or the means of their classes. The 95 % interval adds
# up, as independent errors:
#
# - how much 16 groups of keys differ (jackknife; Student's t), in misses and costs
# - the change if the capacity is wrong by two standard errors of its correction
# - entries from before the sample that a larger cache would still have: the rate of first reads falls in the course of
#   the sample, and is extrapolated to the time that the cache needs to become full
# - MODEL_ERROR, chosen so that the interval in milliseconds holds in nine of ten predictions for half and twice the
#   size: of a segment, in 45 of 48 on 24 traces that were not used for the choice (drift, days, loops, scans, TTLs,
#   deletes, sessions, shops), and since writes are simulated in 49 of 52 on 26 new traces. The choice for a MemoryStore
#   was made on a part of its 36 traces, of which 69 of 70 predictions held
class Tiercel::Insight::Worth
  FACTORS = [0.25, 0.5, 1.0, 2.0, 4.0, 8.0].freeze
  MOST_KEYS = 8_192
  MOST_READS = 60_000
  GROUPS = 16
  # Student's t for 15 degrees of freedom, 95 %.
  T = 2.131
  LEAST_KEYS = 200
  LEAST_READS = 2_000
  # Half of the 95 % interval of the simulation's own error, as a part of the change.
  MODEL_ERROR = Hash.new(0.15).update(memory_store: 0.08).freeze

  # A size: its factor, the miss ratio with its interval, and the change per request in milliseconds with its interval.
  Size = Struct.new(:factor, :miss_ratio, :low, :high, :ms, :ms_low, :ms_high)
  # The worth of a class of keys: the entries that it holds, and the time that its hits save. `ms` is per request, or
  # per 1,000 reads if there are no requests.
  ClassWorth = Struct.new(:name, :bytes, :entries, :hits, :misses, :ms, :saves_nothing, keyword_init: true)

  # LRU, as in memcached and Redis. A full MemoryStore drops its expired entries, and then others until a quarter of its
  # room is free. Solid Cache (:fifo) evicts entries in the order of their writes.
  class Lru
    attr_reader :full, :used

    def initialize(capacity, policy = :lru)
      @capacity, @policy = capacity, policy
      @entries = {}
      @used = 0
    end

    # @param expires_at [Numeric] if the read misses
    # @return [Boolean] whether the read hits; a miss stores the key
    def read(key, size, now = 0, expires_at = Float::INFINITY, written: false)
      known_size, known_expiry = @entries[key]
      hit = known_size && known_expiry > now && !written
      return true if hit && @policy == :fifo
      @entries.delete(key) unless written && @policy != :lru # an overwritten entry of the others keeps its place
      @entries[key] = [size, hit ? known_expiry : expires_at]
      @used += size - known_size.to_i
      return hit if @used <= @capacity
      @full = true
      room = @capacity * (@policy == :memory_store ? 0.75 : 1)
      @entries.delete_if { |_, (bytes, ends)| ends <= now && @used -= bytes } if room < @capacity
      @used -= @entries.shift.last.first while @used > room && !@entries.empty?
      hit
    end

    def write(*entry) = read(*entry, written: true)
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
    @costs = Hash.new(costs.empty? ? 0.0 : costs.values.sum / costs.size).merge(costs)
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
      what = "#{Tiercel::Insight::Text.bytes(now * size.factor)} in place of #{Tiercel::Insight::Text.bytes(now)}"
      ratios = [size.miss_ratio, size.low, size.high].map { |ratio| ratio * 100 }
      format("%s: %s, miss ratio %.1f %% [%.1f to %.1f]", what, change(size), *ratios)
    end
  end

  # @return [Array<ClassWorth>] largest first
  def classes
    sizes = sizes_of_keys
    @reads.select { |read| read.at >= @warm_until }.group_by(&:class_name).filter_map do |name, reads|
      next if reads.all?(&:miss?) && !@costs.key?(name) # absent keys, which no block computes
      keys = reads.map(&:hash).uniq
      bytes = keys.filter_map { |key| sizes[key] }
      hits = reads.count(&:hit?) / @share
      ms = hits * @costs[name] * 1_000 / per
      ClassWorth.new(name:, entries: (keys.size / @share).round, hits: hits.round,
                     bytes: (bytes.sum.fdiv(bytes.size) * keys.size / @share if bytes.any?)&.round,
                     misses: (reads.count(&:miss?) / @share).round, ms:,
                     saves_nothing: reads.size >= 50 && ms < 0.001)
    end.sort_by { |one| [-(one.bytes || 0), -one.entries] }
  end

  private

  def per = requests? ? @counted[:requests] : [@counted[:reads] / 1_000.0, 1e-9].max

  def reason
    return "the store has no size" if @capacity.nil?
    return "cannot tell: the store is empty here; see the page in the server" if @capacity.entries.zero?
    keys = @reads.map(&:hash).uniq.size
    return if keys >= LEAST_KEYS && @reads.size >= LEAST_READS
    "cannot tell yet: #{@reads.size} sampled reads of #{keys} keys, expected #{LEAST_READS} of #{LEAST_KEYS}"
  end

  # Lowers the threshold until the keys and the reads are few enough.
  def reduce(reads, share)
    keys = reads.reject(&:written).map(&:hash).uniq
    return [reads, share] if keys.size <= MOST_KEYS && reads.size <= MOST_READS || keys.size < 16
    below = keys.max / 2
    reduce(reads.select { |read| read.hash < below }, below.fdiv(1 << 32))
  end

  def sizes_of_keys
    @sizes_of_keys ||= @reads.select { |read| read.bytes.is_a?(Integer) }.to_h { |read| [read.hash, read.bytes] }
  end

  # @return [Array<Numeric>] by read: the milliseconds until the expiry of an entry that is written then. A segment
  #   reports it with the first hit of the entry, other stores with the miss. Where it is unknown: that of another entry
  #   of the key, else of the class
  def ttls_of_writes
    written, known, others = {}, {}, Hash.new { |all, of| all[of] = [] }
    @reads.each_with_index do |read, index|
      at = written[read.hash] = (read.hit? && written[read.hash]) || index
      next if known[at] || (read.hit? != s3fifo? && !read.written)
      known[at] = read.ttl ? (read.ttl * 1_000) + read.at - @reads[at].at : Float::INFINITY
      [read.hash, read.class_name].each { |of| others[of] << known[at] }
    end
    @reads.map.with_index do |read, index|
      some = others.fetch(read.hash) { others[read.class_name] }
      known[index] || some[index % [some.size, 1].max] || Float::INFINITY
    end
  end

  def simulate
    describe_reads
    find_lost_entries
    fit_room
    now, = run(1.0)
    @sizes = FACTORS.map { |factor| size(factor, now) }
  end

  # Each Array has a value for each read.
  def describe_reads
    @known, @ttls, seen = sizes_of_keys, ttls_of_writes, {}
    # Keys of unknown size had no hit, so they resemble those with one.
    once = @reads.select(&:hit?).map(&:hash).tally.filter_map { |key, number| @known[key] if number == 1 }
    @size = once.size < 100 ? mean_size : once.sum.fdiv(once.size)
    own = @reads.select(&:seconds).to_h { |read| [read.hash, read.seconds] }
    @cost = @reads.map { |read| own[read.hash] || @costs[read.class_name] }
    @missed = @reads.map { |read| read.miss? ? 1.0 : 0.0 }
    @read = @reads.map { |read| read.written ? 0.0 : 1.0 }
    @group = @reads.map { |read| (read.hash * 2_654_435_761 >> 7) % GROUPS }
    @first = @reads.map { |read| !seen[read.hash] && (seen[read.hash] = true) && !read.written }
    @older = @reads.zip(@first).count { |read, first| first && read.hit? } > seen.size / 50
    @warm = @reads.index { |read| read.at >= @warm_until } || 0
    # A segment's index has a slot for each 354 bytes.
    @bytes = @share * (s3fifo? ? @capacity.limit_bytes * [@size / 354, 1].min : @capacity.entries * mean_size)
  end

  def s3fifo? = @capacity.policy == :s3fifo
  def mean_size = @known.empty? ? 1.0 : @known.values.sum.fdiv(@known.size)

  # If a key misses that even a much smaller cache still has, it was deleted, or its value is never stored. Other reads
  # of the class miss with the same probability.
  def find_lost_entries
    @deleted, @lost = {}, Hash.new(0.0)
    kept, = run(s3fifo? ? 0.08 : 0.5, 1.0, :lru)
    again = @reads.each_index.select { |index| kept[index].zero? && !@first[index] && !@reads[index].written }
    again.each { |index| @deleted[index] = true if @reads[index].miss? }
    again.group_by { |index| @reads[index].class_name }.each do |name, some|
      @lost[name] = @missed.values_at(*some).sum / some.size
    end
  end

  # @return [Array(Array<Float>, Integer, Float)] by read: the probability of a miss; the index of the first eviction;
  #   the part of the cache that is full at the end
  def run(factor, room = @room, policy = @capacity.policy)
    bytes = @bytes * factor * room
    cache = policy == :s3fifo ? Tiercel::Segment::EvictionModel.new(bytes, @share) : Lru.new(bytes, policy)
    full = nil
    misses = @reads.each_with_index.map do |read, index|
      cache.delete(read.hash) if @deleted[index] && policy == :s3fifo
      # If the first read of a key hits, its entry is from before the sample: larger caches have it, too.
      older = @first[index] && read.hit?
      entry = [read.hash, @known.fetch(read.hash, @size), read.at, read.at + @ttls[index]]
      hit = read.written ? cache.write(*entry) : cache.read(*entry)
      full ||= index if cache.full
      next 0.0 if read.written
      next 0.0 if factor >= 1 && older
      hit && !@deleted[index] ? @lost[read.class_name] : 1.0
    end
    [misses, full || @reads.size, cache.used / bytes]
  end

  # Corrects the share of the keys, first by the number of all reads, then by the real misses at the present size.
  def fit_room
    reads = @reads.drop(@warm).reject(&:written).map(&:hash).tally
    bytes = @reads.drop(@warm).to_h { |read| [read.hash, @known.fetch(read.hash, @size).to_f] }
    all, squares = bytes.values.sum, bytes.values.sum { |one| one**2 }
    both, frequent = reads.sum { |key, number| number * bytes[key] }, reads.values.sum { |number| number**2 }
    number, missed = reads.values.sum, @missed.drop(@warm).sum
    @room = prior = 1 + (both / frequent * (number - (@share * @counted[:reads])) / all).clamp(-0.2, 0.2)
    variance = (1 - @share) * squares / (all**2) * [1 - (both**2 / (squares * frequent)), 0.02].max
    @room_error = Math.sqrt(variance)
    at_prior, more, less = [1, 1.1, 1 / 1.1].map { |part| run(1.0, prior * part).first.drop(@warm).sum }
    slope = (more - less) / (2 * Math.log(1.1))
    gain = slope / ((slope**2) + ((((0.004 * number)**2) + missed) / variance))
    @room *= Math.exp((gain * (missed - at_prior)).clamp(-0.2, 0.2))
  end

  def size(factor, now)
    misses, full, used = run(factor)
    larger, = run(factor, @room * (1 + (2 * @room_error)))
    quarter = @reads.size / 4
    start = @older ? [@warm, [full, 3 * quarter].min].max : @warm
    # Whenever the sample gets 1.4 times as long, the rate of first reads falls by about the same amount.
    later = @older && full > start ? [Math.log(1 / (used * 0.875), 1.4), 0].max : 0
    fresh = misses.zip(@first).map { |miss, first| first && @older ? miss : 0.0 }
    # A larger cache keeps a part of the misses, so that its prediction is not below 0.
    base = factor > 1 ? now : @missed
    base, scale = base.drop(start).sum >= 100 ? [base, @counted[:misses]] : [@read, @counted[:reads]]
    scale /= base.drop(start).sum
    ratio, wide, ms, wide_ms = [[@read, 1.0 / [@counted[:reads], 1].max], [@cost, 1_000.0 / per]].flat_map do |by, unit|
      sums = [misses, larger, now, base].map { |values| by_group(values, by, start) }
      fades = [2, 3].map { |part| by_group(fresh, by, part * quarter, (part + 1) * quarter) }.transpose
                    .map { |before, after| (before - after) * (@reads.size - start) / quarter }
      estimate(*sums, fades, later).map { |figure| figure * scale * unit }
    end
    measured = @counted[:misses].fdiv([@counted[:reads], 1].max)
    Size.new(factor, *[ratio, ratio - wide, ratio + wide].map { |more| (measured + more).clamp(0.0, 1.0) },
             ms, ms - wide_ms, ms + wide_ms)
  end

  def by_group(values, weights, from, upto = @reads.size)
    (from...upto).each_with_object(Array.new(GROUPS, 0.0)) do |index, sums|
      sums[@group[index]] += values[index] * weights[index]
    end
  end

  # @return [Array(Float, Float)] the change, and half of the width of its 95 % interval
  def estimate(misses, larger, now, base, fades, later)
    changes = misses.zip(now).map { |one, before| one - before }
    return [0.0, 0.0] if changes.all?(&:zero?)
    part = changes.sum / [base.sum, 1e-9].max
    sampling = changes.zip(base).sum { |change, of| (change - (part * of))**2 } * GROUPS / (GROUPS - 1)
    old = fades.sum.clamp(0, misses.sum)
    unsure = ((old**2) + (T * T * fades.sum { |one| one**2 })) * ((later + 0.5)**2)
    [changes.sum - (old * later), Math.sqrt((T * T * sampling) + ((MODEL_ERROR[@capacity.policy] * changes.sum)**2) +
                                            ((larger.sum - misses.sum)**2) + unsure)]
  end

  def change(size)
    of = requests? ? "per request" : "per 1,000 reads"
    return "no difference that this sample shows" if size.ms_low <= 0 && size.ms_high >= 0
    low, high = [size.ms_low.abs, size.ms_high.abs].sort
    format("%.2g ms %s %s [%.2g to %.2g]", size.ms.abs, size.ms.negative? ? "less" : "more", of, low, high)
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
