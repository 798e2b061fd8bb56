# frozen_string_literal: true

require "uri"
require "zlib"

# Counts what a process does with its cache, and writes the figures to the machine's folder once in two seconds.
#
# Every store reports its calls through ActiveSupport::Notifications. A hit of Tiercel's `shared:` and `memory:` costs
# less than an event. For these stores the segment counts, and passes on the reads of a share of the keys
# (Tiercel::Segment#sample). Blocks of `fetch` arrive through Tiercel::Runtime#observer. The caller's thread only counts
# and appends to an Array; a thread of the collector classifies keys and writes files.
class Tiercel::Insight::Collector
  ProcessFile = Tiercel::Insight::ProcessFile
  KeyClass = Tiercel::Insight::KeyClass
  SECONDS = 2
  BUCKET_SECONDS = 300
  BUCKETS = 288
  # The length in seconds of a period of classes. The current period and the one before are kept.
  PERIOD_SECONDS = 43_200
  # More classes than this are reduced to the KEPT_CLASSES most expensive ones.
  MOST_CLASSES = 1_000
  KEPT_CLASSES = 500
  # Maximum number of sampled reads that wait for the thread; further reads are dropped.
  MOST_PENDING = 1_024
  # If more records of blocks than this wait for the thread, short blocks share records; from MOST_PENDING records on,
  # long blocks do, too. The number of blocks of the two seconds before decides how many share one. So 400,000 misses a
  # second make about 800 records in two seconds, which cost the thread up to 1 % of the time. Tiercel's blocks below
  # TRIVIAL_NS are then not even timed. If fewer than 50,000 blocks a second arrive, or long blocks take a tenth of the
  # time, all are timed: long blocks decide which classes are expensive.
  MOST_BLOCKS = 256
  SHORT_NS = 1_000_000
  TRIVIAL_NS = 10_000
  FREQUENT_NS = 20_000
  # A ring of reads should cover at least this time.
  RING_SECONDS = 600
  # Maximum number of sampled reads of a process per second, averaged over two seconds. A sampled hit of a segment costs
  # about four times as much as another hit; beside an event, a sample costs little.
  MOST_SAMPLED = 500
  MOST_SAMPLED_OF_SEGMENT = 200
  FIRST_SHARE_OF_SEGMENT = 1 / 1_024.0
  # A sample of fewer keys says little. A segment's sample then begins anew with four times the share, if it may.
  FEW_KEYS = 2_000
  SECONDS_TO_SETTLE = 10
  # Maximum number of bytes of the entries whose size the thread measures every two seconds, with 32 KB for each call.
  MOST_MEASURED_BYTES = 2 << 20
  CHECKPOINTS = 128
  HASHES = 1 << 32
  FIGURES = %i[hits misses writes deletes blocks block_ns requests].freeze
  HITS, MISSES, WRITES, DELETES, BLOCKS, BLOCK_NS, REQUESTS = *0..6
  OF_SEGMENT = { served_here: HITS, misses_here: MISSES, writes_here: WRITES, deletes_here: DELETES }.freeze

  EVENTS = { "cache_read.active_support" => :read, "cache_read_multi.active_support" => :read_multi,
             "cache_generate.active_support" => :generate, "cache_write.active_support" => :write,
             "cache_write_multi.active_support" => :write_multi, "cache_increment.active_support" => :counter,
             "cache_decrement.active_support" => :counter, "cache_delete.active_support" => :delete,
             "cache_delete_multi.active_support" => :delete,
             "read_fragment.action_controller" => :read_fragment,
             "write_fragment.action_controller" => :write_fragment }.freeze
  # The store in the event of a hit in Rails' request-local cache.
  LOCAL_STORE = "ActiveSupport::Cache::Strategy::LocalCache::LocalStore"
  # Tiercel reports these to the observer, not as events.
  BLOCK_EVENTS = %i[generate read_fragment write_fragment].freeze
  FRAGMENTS = :tiercel_insight_fragments
  WRITTEN = :tiercel_insight_written

  # @return [ActiveSupport::Cache::Store]
  # @return [KeyClass] with the words of all processes
  attr_reader :store, :key_class

  # @param store [ActiveSupport::Cache::Store]
  # @param folder [String] of the machine's files
  # @param share [Float] the initial share of the keys whose reads are sampled; it falls if reads are frequent
  def initialize(store, folder, share: nil)
    @store = store
    @folder = folder
    @name = store.class.name
    @backend = store.backend if store.respond_to?(:backend)
    segment = @backend.segment if @backend.respond_to?(:segment) && !@backend.tiered?
    @segment = segment if segment.respond_to?(:sample)
    @share = share || (@segment ? FIRST_SHARE_OF_SEGMENT : 1.0)
    @may_sample_more = @segment && share.nil?
    @most_sampled = SECONDS * (@segment ? MOST_SAMPLED_OF_SEGMENT : MOST_SAMPLED)
    @namespace = store.options[:namespace] if store.respond_to?(:options) && store.options
    @files = store.cache_path.to_s if store.respond_to?(:cache_path)
    @subscribers = []
    @starting = Mutex.new
    begin_process
  end

  # @return [self]
  def start
    events = @segment ? {} : EVENTS.reject { |_, method| @backend && BLOCK_EVENTS.include?(method) }
    events.each { |event, method| subscribe(event, method) }
    Tiercel::Runtime.current.observer = self if @backend && defined?(Tiercel::Runtime)
    @segment&.sample(self, @share)
    @subscribers << ActiveSupport::Notifications.monotonic_subscribe("process_action.action_controller") do
      run unless @pid == Process.pid
      @counts[REQUESTS] += 1
      ActiveSupport::IsolatedExecutionState[FRAGMENTS] = nil
    end
    at_exit { flush(last: true) if Process.pid == @pid }
    run
    self
  end

  # @return [void]
  def stop
    @subscribers.each { |subscriber| ActiveSupport::Notifications.unsubscribe(subscriber) }
    @segment&.sample(nil, 0.0)
    runtime = Tiercel::Runtime.current if defined?(Tiercel::Runtime)
    runtime.observer = nil if runtime&.observer.equal?(self)
    @thread&.kill
    flush(last: true)
    @file.close
  end

  # @private A sampled read or write of a segment.
  def sampled(key, hash, bytes, expires_at)
    return if Tiercel::Insight.uncounted?
    more = key.bytesize + 51
    note_read(key, hash >> 21, bytes == -1 ? ProcessFile::MISS : bytes + (bytes.negative? ? -more : more), expires_at)
  end

  # @private Whether the next block needs no timing. Every miss calls this, so it only compares and subtracts.
  def untimed?(backend, pid)
    return false unless @to_skip > 0 && @trivial && pid == @pid && backend.equal?(@backend)
    @to_skip -= 1
    true
  end

  # @private A block of `fetch`.
  def computed(backend, key, duration_ns)
    return unless backend.equal?(@backend)
    run unless @pid == Process.pid
    note_block_ns(key, duration_ns)
  end

  # @private Corrects the counts of a segment: it counted a miss as a hit, or calls that are not the application's.
  # Every `exist?` calls this, so it only adds.
  def recount(backend, hits, misses, writes = 0, deletes = 0)
    return unless @segment && backend.equal?(@backend)
    @counts[HITS] += hits
    @counts[MISSES] += misses
    @counts[WRITES] += writes
    @counts[DELETES] += deletes
  end

  # Writes the figures now.
  #
  # @return [void]
  def flush(last: false)
    @lock.synchronize do
      next unless @pid == Process.pid
      @changed, @long_ns, @flushed_ns = false, 0, nanoseconds
      count_segment
      classify
      checkpoint
      adapt_share
      note_bucket
      learned = @key_class.words.share("#{@folder}/words") # names of classes may show more words now
      next unless @changed || learned || last || !@wrote
      @file.write(to_h)
      @wrote = true
    end
  rescue SystemCallError, IOError => error
    warn_once(error)
  end

  # @return [Hash{Symbol => Numeric}] the figures of this process, as {Figures#totals}
  def figures = count_segment.then { Tiercel::Insight::Figures.named(@counts) }

  private

  def begin_process
    @file&.close
    @pid = Process.pid
    @counts = Array.new(FIGURES.size, 0)
    @of_segment = first_counters
    @reads, @blocks, @checkpoints = [], [], [[0, 0, 0, 0]]
    @to_skip = @skips = @spacing = @dropped = @long_ns = @folded_at = 0
    @flushed_ns, @random, @lock = nanoseconds, Random.new, Mutex.new
    @buckets, @classes, @class_numbers, @known = Array.new(4) { {} }
    @key_class = KeyClass.new(@namespace)
    @below = (@share * HASHES).to_i
    @since = @since_share = now
    @wrote = @trivial = nil
    @before = @counts.dup
    @file = ProcessFile.new(@folder)
  end

  # Starts the thread; in a forked child for the child's own figures.
  def run
    @starting.synchronize do
      next if @runs_in == Process.pid
      begin_process unless @pid == Process.pid
      @runs_in = @pid
      @thread = Thread.new do
        loop do
          sleep SECONDS
          Tiercel::Insight.uncounted { flush }
          housekeeping
        end
      end
      @thread.name = "tiercel-insight"
      @thread.thread_variable_set(:fork_safe, true) # Puma warns about other threads when it forks its workers
      @thread.report_on_exception = false
    end
  end

  def subscribe(event, method)
    handler = method(method)
    @subscribers << ActiveSupport::Notifications.monotonic_subscribe(event) do |_, start, finish, _, payload|
      run unless @pid == Process.pid
      ours = [nil, @name, LOCAL_STORE].include?(payload[:store])
      failed = payload[:exception] && method != :generate
      handler.call(payload, finish - start, finish) unless !ours || failed || Tiercel::Insight.uncounted?
    rescue StandardError => error
      warn_once(error) # the application does not notice
    end
  end

  # --- events ---

  def read(payload, _duration, _finish)
    hit = payload[:hit]
    @counts[hit ? HITS : MISSES] += 1
    note_name(payload[:key], hit)
  end

  def read_multi(payload, duration, finish)
    names = payload[:key]
    return unless names.is_a?(Array)
    missing = names - payload[:hits].to_a
    @counts[HITS] += names.size - missing.size
    @counts[MISSES] += missing.size
    [[missing, false], [names - missing, true]].each { |some, hit| some.each { |name| note_name(name, hit) } }
    return if missing.empty? || @backend
    # The event of `fetch_multi` encloses the blocks of the missing names.
    return wait_for_write(missing.to_h { |name| [name, true] }, finish) if payload[:super_operation] != :fetch_multi
    # If an earlier `read_multi` missed the same names, its `write_multi` computes only the others.
    ActiveSupport::IsolatedExecutionState[FRAGMENTS]&.each do |pending|
      pending[1] += duration if pending[0].is_a?(Hash) && pending[0].reject! { |name, _| missing.include?(name) }
    end
    missing.each { |name| note_block(name, duration / missing.size) }
  end

  def generate(payload, duration, _finish) = note_block(@generated = payload[:key], duration)

  def write(payload, _duration, finish)
    @counts[WRITES] += 1
    note_write(payload[:key], payload[:expires_in])
    ActiveSupport::IsolatedExecutionState[WRITTEN] = finish
  end

  # Some stores write the first value of a counter with `write`. Its event was counted already.
  def counter(_payload, duration, finish)
    written = ActiveSupport::IsolatedExecutionState[WRITTEN]
    @counts[WRITES] += 1 unless written && written >= finish - duration
  end

  def delete(payload, _duration, _finish) = @counts[DELETES] += payload[:key].is_a?(Array) ? payload[:key].size : 1

  # The time between `read_multi` and `write_multi` is the time of the missing names, as in `render collection:`.
  def write_multi(payload, duration, finish)
    names = payload[:key].is_a?(Hash) ? payload[:key].keys : Array(payload[:key])
    @counts[WRITES] += names.size
    names.each { |name| note_write(name, payload[:expires_in]) }
    seconds = since_missing(finish - duration) { |missing| missing.is_a?(Hash) && names.all? { |name| missing[name] } }
    names.each { |name| note_block(name, seconds / names.size) } if seconds
  end

  # The time between a missed read and the write of the same fragment is the time of its rendering.
  def read_fragment(payload, _duration, finish) = wait_for_write(payload[:key], finish)

  def write_fragment(payload, duration, finish)
    seconds = since_missing(finish - duration) { |key| key == payload[:key] } or return
    note_block(payload[:key], seconds)
  end

  def wait_for_write(missing, at)
    pending = ActiveSupport::IsolatedExecutionState[FRAGMENTS] ||= []
    pending.shift if pending.size >= 64
    pending << [missing, at]
  end

  def since_missing(now)
    pending = ActiveSupport::IsolatedExecutionState[FRAGMENTS] or return
    at = pending.rindex { |missing, _| yield missing } or return
    now - pending.slice!(at..).first.last
  end

  def hash_of(key) = (Zlib.crc32(key) * 0x9E3779B1) & 0xFFFF_FFFF

  def note_write(name, ttl)
    return @generated = nil if ttl.nil? && name == @generated # the write of a `fetch`; a later one is the caller's
    hash = hash_of(key = text_of(name))
    note_read(key, hash, -2 - ProcessFile::SIZE_UNKNOWN, ttl&.to_f) if hash < @below
  end

  def note_name(name, hit)
    key = text_of(name)
    hash = hash_of(key)
    note_read(key, hash, hit ? ProcessFile::SIZE_UNKNOWN : ProcessFile::MISS) if hash < @below
  end

  def note_block(name, seconds) = note_block_ns(text_of(name), (seconds * 1e9).to_i)

  # @blocks is a flat list of key, total duration, number of blocks, and longest duration.
  def note_block_ns(key, duration_ns)
    short = duration_ns < SHORT_NS || @blocks.size >= 4 * MOST_PENDING
    return @to_skip -= 1 if short && @to_skip > 0
    number = 1
    if short || @trivial
      beyond = [(@blocks.size / 4) - (duration_ns < SHORT_NS ? MOST_BLOCKS : MOST_PENDING), 0].max
      elapsed_ns, count = nanoseconds - @flushed_ns, @counts[BLOCKS] - @before[BLOCKS]
      @trivial = @backend && beyond.positive? && duration_ns < TRIVIAL_NS && @long_ns * 10 < elapsed_ns &&
                 count * FREQUENT_NS > elapsed_ns
      number += skipped(beyond.positive? ? @random.rand(1 + @spacing + (beyond / 2)) : 0)
    end
    @counts[BLOCKS] += number
    @counts[BLOCK_NS] += duration_ns * number
    @blocks.push(key, duration_ns * number, number, duration_ns)
    @long_ns += duration_ns * number if duration_ns >= SHORT_NS
  end

  # The number of blocks that were skipped since the last call. No block is lost, because CRuby switches threads at
  # branches and returns only.
  def skipped(to_skip)
    skipped = @skips - @to_skip
    @skips = @to_skip = to_skip
    skipped
  end

  # @reads is a flat list of key, hash, bytes, milliseconds, and the entry's expiry (of a segment) or TTL.
  def note_read(key, hash, bytes, expiry = nil)
    run unless @pid == Process.pid
    return @dropped += 1 if @reads.size >= 5 * MOST_PENDING
    @reads.push(key, hash, bytes, Process.clock_gettime(Process::CLOCK_REALTIME, :millisecond), expiry)
  end

  # In the events of a FileStore, a key is the path of its file.
  def text_of(name)
    name = ActiveSupport::Cache.expand_cache_key(name) unless name.is_a?(String)
    return name unless @files && name.start_with?(@files)
    URI.decode_www_form_component(name.delete_prefix(@files).split("/").drop(3).join("/"))
  rescue ArgumentError
    name
  end

  # --- the thread ---

  def now = Time.now.to_i
  def nanoseconds = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)

  # A forked child counts from zero. Over `memory:` the counters keep the parent's values until the child's first call.
  def first_counters
    return @segment&.counters if @of_segment.nil?
    @inherited = @of_segment unless @segment.path
    {}
  end

  def smaller?(counters, before) = OF_SEGMENT.each_key.any? { |name| counters[name].to_i < before[name].to_i }

  def count_segment
    counters = @segment&.counters or return
    return if counters == @inherited
    before = @of_segment || {}
    # A new file of the segment counts from zero, too.
    before = {} if before[:file_id] != counters[:file_id] || smaller?(counters, before)
    OF_SEGMENT.each { |name, figure| @counts[figure] += counters[name].to_i - before[name].to_i }
    @of_segment = counters
  rescue StandardError
    nil # the segment is closed
  end

  def classify
    # No record is lost, as in {#skipped}. The shift of an Array would keep its memory.
    reads, @reads = @reads, []
    blocks, @blocks = @blocks, []
    @known.clear if @known.size > 2 * FEW_KEYS
    # Learns the words of the waiting keys first. Otherwise the first keys of a class would be classified before their
    # words are known to be shared.
    marked = blocks.each_slice(4).to_h { |key, duration_ns| [key, @key_class.marked(key, duration_ns)] }
    ttls, missed = {}, {}
    reads.each_slice(5) do |key, hash, _, _, ttl|
      marked[key] ||= @key_class.marked(key) unless @known[hash]
      ttls[hash] = ttl if ttl && !@segment # a miss has the TTL of its write
    end
    records = +"".b
    @to_measure = MOST_MEASURED_BYTES
    costs = blocks.each_slice(4).to_h { |key, _, _, ns| [key, [ns / 1_000, ProcessFile::COST - 3].min] }
    reads.each_slice(5) do |key, hash, bytes, at, expires_at|
      next if hash >= @below
      written = bytes.negative? ? ProcessFile::WRITTEN : 0
      next if missed.delete(hash) && written > 0 # it fills the miss
      bytes = -2 - bytes if written > 0
      # The number of the class; above it, the size of the entry (0: not measured).
      known = @known[hash] || number_of(@key_class.name(marked[key]))
      unknown = bytes == ProcessFile::SIZE_UNKNOWN
      known += measured(key) * ProcessFile::WRITTEN if unknown && written == 0 && known < ProcessFile::WRITTEN
      size, number = (@known[hash] = known).divmod(ProcessFile::WRITTEN)
      bytes = size if unknown && size > 0
      ttl = @segment && expires_at ? expires_at - (at / 1_000.0) : ttls.fetch(hash, 0)
      bytes = ProcessFile::MISS if ttl.negative? && written == 0 # a segment keeps a frame beyond its TTL
      ttl = ttl.positive? && ttl < 1_000_000 ? ttl.ceil << ProcessFile::CLASS_BITS : 0
      missed[hash] = true if bytes == ProcessFile::MISS
      bytes = ProcessFile::COST + costs[key] if bytes == ProcessFile::MISS && costs[key]
      records << [hash, at & 0xFFFF_FFFF, bytes, number | written | ttl].pack(ProcessFile::RECORD)
    end
    @sampled, @dropped = (records.bytesize / ProcessFile::RECORD_BYTES) + @dropped, 0
    @file.append(records)
    table = @classes[now / PERIOD_SECONDS] ||= {}
    count_untimed(blocks) unless blocks.empty?
    blocks.each_slice(4) do |key, duration_ns, number, longest_ns|
      add_cost(table, marked[key], [number, duration_ns / 1e9, longest_ns / 1e9])
    end
    @classes.shift if @classes.size > 2
    reduce(table)
  end

  # Adds the blocks after the last record to the last short one.
  def count_untimed(blocks)
    number = skipped(0)
    @counts[BLOCKS] += number
    at = (blocks.size - 4).step(0, -4).find { |index| blocks[index + 3] < SHORT_NS } || (blocks.size - 4)
    blocks[at + 2] += number
  end

  # The size of the entry of a sampled hit; 0 while the log is at DEBUG, because it would show this further read.
  def measured(key)
    return 0 if @to_measure <= 0 || ActiveSupport::Cache::Store.logger&.debug?
    bytes = Tiercel::Insight.uncounted { Tiercel::Insight::Capacity.bytes_of(@store, key) }
    @to_measure -= bytes.to_i + (32 << 10)
    [bytes || ProcessFile::SIZE_UNKNOWN, ProcessFile::SIZE_UNKNOWN].min
  end

  # Keeps the sum of all classes correct: cheaper marked classes lose their rare words, then names absorb them, and then
  # the class `*` absorbs the cheaper names.
  def reduce(table)
    [[/\0/, :without_rare_words], [/\0/, :name], [//]].each do |form, how|
      next if table.size <= MOST_CLASSES
      dropped = table.keys.grep(form).sort_by { |name| -table[name][1] }.drop(KEPT_CLASSES)
      dropped.each { |one| add_marked(table, one, table.delete(one), how ? @key_class.public_send(how, one) : "*") }
    end
  end

  # Adds a cost to another name of a class. Its last number: seconds of keys with a masked word.
  def add_marked(table, marked, cost, name = @key_class.name(marked))
    cost = [*cost.first(3), cost[1]] if name.delete(KeyClass::MARK) != marked.delete(KeyClass::MARK)
    add_cost(table, name, cost)
  end

  def named(table) = table.each_with_object({}) { |(name, cost), sums| add_marked(sums, name, cost) }

  def add_cost(table, name, cost) = Tiercel::Insight::Figures.add_classes(table, { name => cost })

  def number_of(name)
    @class_numbers[name] ||= @class_numbers.size if @class_numbers.size < MOST_CLASSES
    @class_numbers.fetch(name, 0)
  end

  # Records the numbers of reads, misses and requests for the present number of records in the ring. The distance
  # between two checkpoints is at least a part of the ring, so that they cover the whole ring evenly.
  def checkpoint
    point = [@file.written, @counts[HITS] + @counts[MISSES], @counts[MISSES], @counts[REQUESTS]]
    before, last = @checkpoints.last(2)
    @checkpoints.pop if last && last[0] - before[0] < ProcessFile::RECORDS / CHECKPOINTS
    @checkpoints = [*@checkpoints, point].last(CHECKPOINTS + 2)
  end

  # Implements SHARDS with a fixed amount of memory: if samples come too fast, samples fewer keys from now on.
  def adapt_share
    rings = @file.written / ProcessFile::RECORDS
    wrapped_early = rings.positive? && now - @since < RING_SECONDS * rings && @known.size >= 2 * FEW_KEYS
    too_many = @sampled.to_i > @most_sampled
    return sample_more unless (wrapped_early && rings > @halved.to_i) || too_many
    @halved = rings
    @may_sample_more = false
    self.below = @below * (too_many ? [@most_sampled.fdiv(@sampled), 0.5].min : 0.5)
  end

  def sample_more
    @may_sample_more = false if @known.size >= FEW_KEYS
    seconds = now - @since_share
    return if !@may_sample_more || seconds < SECONDS_TO_SETTLE
    return if @below >= HASHES / 2 || @file.written * 4 > @most_sampled * seconds / SECONDS
    self.below = [@below * 4, HASHES / 2].min
    @file.restart
    @checkpoints = [[0, @counts[HITS] + @counts[MISSES], @counts[MISSES], @counts[REQUESTS]]]
  end

  def below=(below)
    @below = [below.to_i, 1 << 12].max
    @known.select! { |hash, _| hash < @below }
    @since_share = now
    @segment&.sample(self, @below.fdiv(HASHES))
  end

  def note_bucket
    more = @counts.zip(@before).map { |after, before| after - before }
    @spacing = more[BLOCKS] / MOST_BLOCKS
    return if more.all?(&:zero?)
    @changed = true
    @before = @counts.dup
    bucket = @buckets[now / BUCKET_SECONDS] ||= Array.new(FIGURES.size, 0)
    more.each_with_index { |number, index| bucket[index] += number }
    @buckets.shift if @buckets.size > BUCKETS
  end

  def to_h
    { "version" => 1, "id" => @file.id, "pid" => @pid, "since" => @since, "at" => now, "store" => @name,
      "namespace" => @key_class.shown_namespace, "figures" => FIGURES.map(&:to_s).zip(@counts).to_h,
      "buckets" => @buckets, "classes" => @classes.transform_values(&method(:named)),
      "ring" => { "written" => @file.written, "below" => @below, "classes" => @class_numbers.keys,
                  "checkpoints" => @checkpoints }, "audit" => Tiercel::Insight.auditor.to_a }
  end

  # Once a minute, folds the files of dead processes.
  def housekeeping
    return if now - @folded_at < 60
    @folded_at, @wrote = now, nil
    ProcessFile.fold(@folder)
  end

  def warn_once(error)
    return if @warned
    @warned = true
    ActiveSupport::Cache::Store.logger&.warn("tiercel-insight counts no longer everything: #{error.message}")
  end
end
