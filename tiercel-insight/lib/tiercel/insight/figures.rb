# frozen_string_literal: true

# The figures of all processes of a machine, read from their files.
#
#   figures = Tiercel::Insight.figures
#   figures.totals      # => { hits: 91_204, misses: 512, block_seconds: 40.3, requests: 7_300, ... }
#   figures.classes     # the classes of keys, most expensive misses first
class Tiercel::Insight::Figures
  ProcessFile = Tiercel::Insight::ProcessFile
  # Number of the most expensive classes that are compared with all others, to find those that only cover a rest.
  COMPARED = 50
  SEPARATORS = ":/?&=|, ."
  # A sampled read: time in milliseconds, hash, bytes of the entry (nil: a miss; :unknown), name of its class, and
  # seconds: of a hit in a segment until its expiry, of a miss in another store the TTL of the entry that was written
  # (nil: none or unknown); of a miss those of its block (nil: unknown). `written`: not a read, but a write that no miss
  # has caused.
  Read = Struct.new(:at, :hash, :bytes, :class_name, :ttl, :seconds, :written) do
    def hit? = !bytes.nil? && !written
    def miss? = bytes.nil?
  end

  # Adds the figures of several files.
  #
  # @param all [Array<Hash>]
  # @return [Hash] as one file, without its ring
  def self.merge(all)
    result = { "since" => all.filter_map { |one| one["since"] }.min, "figures" => Hash.new(0), "buckets" => {},
               "at" => all.filter_map { |one| one["at"] }.max, "namespace" => all.last&.fetch("namespace", nil),
               "classes" => {}, "audit" => Tiercel::Insight::Audit.merge(all.map { |one| Array(one["audit"]) }) }
    all.each do |one|
      one["figures"].each { |name, figure| result["figures"][name] += figure if figure.is_a?(Numeric) }
      one["buckets"].to_h.each do |at, figures|
        sums = result["buckets"][at.to_s] ||= Array.new(figures.size, 0)
        figures.each_with_index { |figure, index| sums[index] = sums[index].to_i + figure }
      end
      one["classes"].to_h.each { |period, table| add_classes(result["classes"][period.to_s] ||= {}, table) }
    end
    result["buckets"] = result["buckets"].sort_by { |at, _| at.to_i }.last(Tiercel::Insight::Collector::BUCKETS).to_h
    result["classes"] = result["classes"].sort_by { |at, _| at.to_i }.last(2).to_h
    result
  end

  # @private
  def self.add_classes(sums, table)
    table.each do |name, (misses, seconds, longest, masked)|
      sum = sums[name] ||= [0, 0.0, 0.0, 0.0]
      sum[0] += misses
      sum[1] += seconds
      sum[2] = longest if longest > sum[2]
      sum[3] += masked.to_f
    end
  end

  # @private
  # @param numbers [Array<Integer, nil>] in the order of {Collector::FIGURES}
  def self.named(numbers)
    figures = Tiercel::Insight::Collector::FIGURES.zip(numbers).to_h { |name, number| [name, number.to_i] }
    { **figures.except(:block_ns), block_seconds: figures[:block_ns] / 1e9 }
  end

  # @param folder [String]
  def initialize(folder)
    @folder = folder
    @files = ProcessFile.all(folder)
    @merged = self.class.merge(@files)
  end

  # @return [Integer] number of running or recently ended processes
  def processes = @files.count { |one| one["ring"] }

  # @return [Time, nil]
  def since = @merged["since"] && Time.at(@merged["since"])

  # @return [Hash{Symbol => Numeric}] :hits, :misses, :writes, :deletes, :blocks, :block_seconds, :requests
  def totals = self.class.named(@merged["figures"].values_at(*Tiercel::Insight::Collector::FIGURES.map(&:to_s)))

  # @param count [Integer] number of parts of five minutes, at most a day
  # @return [Array<Hash{Symbol => Numeric}>] :at (epoch seconds), and the figures of {#totals}; oldest first
  def buckets(count = 288)
    seconds = Tiercel::Insight::Collector::BUCKET_SECONDS
    last = Time.now.to_i / seconds
    ((last - count + 1)..last).map { |at| { at: at * seconds, **self.class.named(@merged["buckets"][at.to_s] || []) } }
  end

  # The classes of keys in the last 12 to 24 hours.
  #
  # @param limit [Integer]
  # @return [Array<Hash{Symbol => Object}>] :name, :misses (blocks), :seconds, :longest_seconds; most expensive first.
  #   The class `*`, whose keys share no part, comes last, after those that only cover the rest of other classes
  def classes(limit = 1_000)
    sums, namespace = {}, @merged["namespace"].to_s
    @merged["classes"].each_value { |table| self.class.add_classes(sums, table) }
    ranks = sums.sort_by { |_, cost| -cost[1] }.group_by.with_index do |(name, _), at|
      [name.delete_prefix(namespace).match?(/[A-Za-z]/) ? 0 : 2, at < COMPARED ? rest(name, sums) : 0].max
    end
    ranks.sort.flat_map(&:last).first(limit)
         .map { |name, cost| { name:, **%i[misses seconds longest_seconds].zip(cost).to_h } }
  end

  # @return [Array<Hash>] see {Audit}; stale values first
  def audit = @merged["audit"].sort_by { |one| [one["status"] == "stale" ? 0 : 1, -one["count"].to_i] }

  # The sampled reads of all processes in the time that all of them cover. The first third warms simulated caches up.
  #
  # @return [Array(Array<Read>, Float, Hash)] the reads by time; the share of sampled keys; and the number of reads that
  #   only warm up (:warm), with the number of all :reads, :misses and :requests after them
  def sample
    @sample ||= begin
      rings = @files.filter_map { |one| ring_of(one) if one["ring"] }
      below = rings.map { |ring| ring[:below] }.min || 0
      from = rings.filter_map { |ring| ring[:reads].first&.at if ring[:wrapped] }.max || 0
      reads = rings.flat_map { |ring| ring[:reads].select { |read| read.hash < below && read.at >= from } }
      reads = reads.sort_by.with_index { |read, index| [read.at, index] }
      starts_at = reads[reads.size / 3]&.at || 0
      counted = rings.map { |ring| counted_since(ring, starts_at) }.each_with_object(Hash.new(0)) do |one, sums|
        one.each { |name, count| sums[name] += count }
      end
      warm = reads.index { |read| read.at >= starts_at } || 0
      [reads, below.fdiv(1 << 32), { reads: 0, misses: 0, requests: 0, **counted, warm: }]
    end
  end

  private

  # Whether most of a class is keys with a word that too few keys share, and other classes that fit its name cost more:
  # 1 or 0.
  def rest(name, sums)
    _, seconds, _, masked = sums[name]
    form = /\A#{Regexp.escape(name).gsub("\\*", "[^#{SEPARATORS}]++")}\z/
    # A class with other separators does not fit.
    alike = (@alike ||= sums.group_by { |one, _| one.delete("^#{SEPARATORS}") })[name.delete("^#{SEPARATORS}")]
    masked * 2 > seconds && alike.sum { |one, cost| form.match?(one) ? cost[1] : 0 } > 2 * seconds ? 1 : 0
  end

  def ring_of(file)
    ring = file["ring"]
    written, below, names, points = ring.values_at("written", "below", "classes", "checkpoints")
    return unless written.is_a?(Integer) && below.is_a?(Integer) && points.flatten.all?(Numeric)
    numbers = ProcessFile.ring(@folder, file["id"].to_s.delete("/"), written).unpack("L<*")
    reads = numbers.each_slice(4).filter_map do |hash, at, bytes, number|
      next if number.nil?
      size = bytes < ProcessFile::COST ? bytes : (:unknown if bytes == ProcessFile::SIZE_UNKNOWN)
      seconds = (bytes - ProcessFile::COST) / 1e6 if bytes.between?(ProcessFile::COST, ProcessFile::SIZE_UNKNOWN - 1)
      ttl, number = number.divmod(1 << ProcessFile::CLASS_BITS)
      name = names[number % ProcessFile::WRITTEN] || "*"
      Read.new(at, hash, size, name, (ttl if ttl.positive?), seconds, number >= ProcessFile::WRITTEN)
    end
    { below:, reads:, written:, wrapped: written > ProcessFile::RECORDS, points: }
  rescue NoMethodError, TypeError
    nil # a damaged file
  end

  # The counts between a time and now, by linear interpolation between the process's checkpoints.
  def counted_since(ring, time)
    after = ring[:reads].index { |read| read.at >= time } || ring[:reads].size
    number = ring[:written] - ring[:reads].size + after
    right = ring[:points].index { |point| point[0] >= number } || (ring[:points].size - 1)
    high, low = ring[:points][right], ring[:points][[right - 1, 0].max]
    part = high[0] == low[0] ? 0.0 : (number - low[0]).fdiv(high[0] - low[0]).clamp(0.0, 1.0)
    last = ring[:points].last
    { reads: 1, misses: 2, requests: 3 }.transform_values do |at|
      (last[at] - (low[at] + (part * (high[at] - low[at])))).round
    end
  end
end
