# frozen_string_literal: true

require "uri"
require "zlib"

# Counts what a process does with its cache, and writes the figures to the machine's folder once in two seconds.
#
# Every store reports its calls through ActiveSupport::Notifications. A hit of Tiercel's `shared:` and `memory:` costs
# less than an event, so there the segment counts, and passes on the reads of a share of the keys
# (Tiercel::Segment#sample); blocks of `fetch` arrive through Tiercel::Observer. Nothing here runs in the caller's
# thread but counting and appending to an Array: a thread of the collector classifies keys and writes files.
class Tiercel::Insight::Collector
  ProcessFile = Tiercel::Insight::ProcessFile
  SECONDS = 2
  BUCKET_SECONDS = 300
  BUCKETS = 288
  # Classes of keys are kept for this many seconds, and for the same time before.
  PERIOD_SECONDS = 43_200
  # More classes than this are reduced to the KEPT_CLASSES most expensive ones.
  MOST_CLASSES = 1_000
  KEPT_CLASSES = 500
  # Events that wait for the thread; beyond this, short blocks and sampled reads are dropped.
  MOST_PENDING = 8_192
  # A ring of reads should cover at least this time.
  RING_SECONDS = 600
  # The most sampled reads of a process in a second, on average of two.
  MOST_SAMPLED = 2_000
  CHECKPOINTS = 128
  # Blocks of Tiercel that are shorter are classified one in SOME.
  SHORT_NS = 200_000
  SOME = 16
  HASHES = 1 << 32
  FIGURES = %i[hits misses writes deletes blocks block_ns requests].freeze
  HITS, MISSES, WRITES, DELETES, BLOCKS, BLOCK_NS, REQUESTS = *0..6
  private_constant :HITS, :MISSES, :WRITES, :DELETES, :BLOCKS, :BLOCK_NS, :REQUESTS

  EVENTS = { "cache_read.active_support" => :read, "cache_read_multi.active_support" => :read_multi,
             "cache_generate.active_support" => :generate, "cache_write.active_support" => :write,
             "cache_write_multi.active_support" => :write_multi, "cache_delete.active_support" => :delete,
             "read_fragment.action_controller" => :read_fragment,
             "write_fragment.action_controller" => :write_fragment }.freeze
  # These Tiercel reports without events.
  BLOCK_EVENTS = %i[generate read_fragment write_fragment].freeze
  FRAGMENTS = :tiercel_insight_fragments
  private_constant :EVENTS, :BLOCK_EVENTS, :FRAGMENTS

  # @return [String]
  attr_reader :folder
  # @return [ActiveSupport::Cache::Store]
  attr_reader :store

  # @param store [ActiveSupport::Cache::Store]
  # @param folder [String] of the machine's files
  # @param share [Float] the first share of the keys whose reads are sampled; it falls where reads are many
  def initialize(store, folder, share: nil)
    @store = store
    @folder = folder
    @name = store.class.name
    @segment = segment_of(store)
    @share = share || (@segment ? 0.125 : 1.0)
    @namespace = store.options[:namespace] if store.respond_to?(:options) && store.options
    @files = store.cache_path.to_s if store.respond_to?(:cache_path)
    @subscribers = []
    @lock = Mutex.new
    @starting = Mutex.new
    begin_process
  end

  # @return [self]
  def start
    tiercel = @store.respond_to?(:backend)
    unless @segment
      EVENTS.each { |event, method| subscribe(event, method) unless tiercel && BLOCK_EVENTS.include?(method) }
    end
    Tiercel::Observer.current = self if tiercel && defined?(Tiercel::Observer)
    @segment&.sample(self, @share)
    @subscribers << ActiveSupport::Notifications.monotonic_subscribe("process_action.action_controller") do
      run unless @pid == Process.pid
      @counts[REQUESTS] += 1
    end
    at_exit { flush(last: true) if Process.pid == @pid }
    run
    self
  end

  # @return [void]
  def stop
    @subscribers.each { |subscriber| ActiveSupport::Notifications.unsubscribe(subscriber) }
    @segment&.sample(nil, 0.0)
    Tiercel::Observer.current = nil if defined?(Tiercel::Observer) && Tiercel::Observer.current.equal?(self)
    @thread&.kill
    flush(last: true)
    @file.close
  end

  # @private A sampled read of a segment.
  def sampled(key, hash, bytes)
    note_read(key, hash >> 21, bytes.negative? ? ProcessFile::MISS : [bytes, ProcessFile::SIZE_UNKNOWN - 1].min)
  end

  # @private A block of `fetch`.
  def computed(key, duration_ns)
    run unless @pid == Process.pid
    counts = @counts
    counts[BLOCKS] += 1
    counts[BLOCK_NS] += duration_ns
    weight = 1
    if duration_ns < SHORT_NS
      return unless (counts[BLOCKS] % SOME).zero?
      weight = SOME
    end
    @blocks.push(key, duration_ns, weight) if @blocks.size < MOST_PENDING
  end

  # Writes the figures now.
  #
  # @return [void]
  def flush(last: false)
    @lock.synchronize do
      next unless @pid == Process.pid
      @changed = false
      count_segment
      classify
      checkpoint
      slow_down
      note_bucket
      next unless @changed || last || !@wrote
      @file.write(to_h)
      @wrote = true
    end
  rescue SystemCallError, IOError => error
    warn_once(error)
  end

  # @return [Hash{Symbol => Numeric}] the figures of this process
  def figures
    count_segment
    FIGURES.zip(@counts).to_h
  end

  private

  def segment_of(store)
    return unless store.respond_to?(:backend) && !store.backend.tiered? && store.backend.respond_to?(:segment)
    segment = store.backend.segment
    segment if segment.respond_to?(:sample)
  end

  def begin_process
    @file&.close
    @pid = Process.pid
    @counts = Array.new(FIGURES.size, 0)
    @of_segment = @segment&.counters
    @reads = []
    @blocks = []
    @buckets = {}
    @classes = {}
    @class_numbers = {}
    @class_names = []
    @class_of_hash = {}
    @key_class = Tiercel::Insight::KeyClass.new(@namespace)
    @checkpoints = [[0, 0, 0, 0, 0]]
    @below = (@share * HASHES).to_i
    @since = @folded_at = now
    @wrote = nil
    @before = @counts.dup
    @lock = Mutex.new
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
      @thread.report_on_exception = false
    end
  end

  def subscribe(event, method)
    handler = method(method)
    @subscribers << ActiveSupport::Notifications.monotonic_subscribe(event) do |_, start, finish, _, payload|
      run unless @pid == Process.pid
      ours = payload[:store].nil? || payload[:store] == @name
      handler.call(payload, finish - start, finish) unless !ours || payload[:exception] || Tiercel::Insight.uncounted?
    end
  end

  # --- events ---

  def read(payload, _duration, _finish)
    hit = payload[:hit]
    @counts[hit ? HITS : MISSES] += 1
    note_name(payload[:key], hit)
  end

  def read_multi(payload, duration, _finish)
    names = payload[:key]
    return unless names.is_a?(Array)
    hits = payload[:hits] || []
    found = hits.to_h { |name| [name, true] }
    missing = names.reject { |name| found[name] }
    @counts[HITS] += names.size - missing.size
    @counts[MISSES] += missing.size
    names.each { |name| note_name(name, found[name]) }
    # The event of `fetch_multi` encloses the blocks of the missing names.
    return if payload[:super_operation] != :fetch_multi || missing.empty? || @store.respond_to?(:backend)
    missing.each { |name| note_block(name, duration / missing.size) }
  end

  def generate(payload, duration, _finish) = note_block(payload[:key], duration)
  def write(_payload, _duration, _finish) = @counts[WRITES] += 1
  def write_multi(payload, _duration, _finish)
    @counts[WRITES] += payload[:key].respond_to?(:size) ? payload[:key].size : 1
  end
  def delete(_payload, _duration, _finish) = @counts[DELETES] += 1

  # The time between a missed read and the write of the same fragment is the time of its rendering.
  def read_fragment(payload, _duration, finish)
    pending = ActiveSupport::IsolatedExecutionState[FRAGMENTS] ||= []
    pending.shift if pending.size >= 64
    pending << [payload[:key], finish]
  end

  def write_fragment(payload, duration, finish)
    pending = ActiveSupport::IsolatedExecutionState[FRAGMENTS] or return
    at = pending.rindex { |key, _| key == payload[:key] } or return
    note_block(payload[:key], finish - duration - pending[at].last)
    pending.slice!(at..)
  end

  def note_name(name, hit)
    key = text_of(name)
    hash = (Zlib.crc32(key) * 0x9E3779B1) & 0xFFFF_FFFF
    note_read(key, hash, hit ? ProcessFile::SIZE_UNKNOWN : ProcessFile::MISS) if hash < @below
  end

  def note_block(name, seconds)
    @counts[BLOCKS] += 1
    @counts[BLOCK_NS] += (seconds * 1e9).to_i
    @blocks.push(text_of(name), (seconds * 1e9).to_i, 1) if @blocks.size < MOST_PENDING
  end

  def note_read(key, hash, bytes)
    run unless @pid == Process.pid
    return if @reads.size >= 4 * MOST_PENDING
    @reads.push(key, hash, bytes, Process.clock_gettime(Process::CLOCK_REALTIME, :millisecond))
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

  def count_segment
    counters = @segment&.counters or return
    before = @of_segment || {}
    # A new file of the segment counts from zero.
    before = {} if before[:file_id] && before[:file_id] != counters[:file_id]
    { served_here: HITS, misses_here: MISSES, writes_here: WRITES, deletes_here: DELETES }.each do |name, figure|
      more = counters[name].to_i - before[name].to_i
      @counts[figure] += more if more.between?(1, 1 << 40)
    end
    @of_segment = counters
  rescue StandardError
    nil # the segment is closed
  end

  # The first keys of a class would otherwise be classified before their words are known to be shared.
  def learn_words
    keys = @reads.each_slice(4).map(&:first) + @blocks.each_slice(3).map(&:first)
    keys.first(1_024).each { |key| @key_class.of(key) }
  end

  def classify
    learn_words
    records = +"".b
    @reads.shift(@reads.size).each_slice(4) do |key, hash, bytes, at|
      next if hash >= @below
      number = @class_of_hash[hash] ||= number_of(@key_class.of(key))
      records << [hash, at & 0xFFFF_FFFF, bytes, number].pack(ProcessFile::RECORD)
    end
    @class_of_hash.clear if @class_of_hash.size > MOST_PENDING
    @sampled = records.bytesize / ProcessFile::RECORD_BYTES
    @file.append(records) unless records.empty?
    table = @classes[now / PERIOD_SECONDS] ||= {}
    @blocks.shift(@blocks.size).each_slice(3) do |key, duration_ns, weight|
      cost = table[@key_class.of(key)] ||= [0, 0.0, 0.0]
      cost[0] += weight
      cost[1] += weight * duration_ns / 1e9
      cost[2] = duration_ns / 1e9 if duration_ns / 1e9 > cost[2]
    end
    @classes.shift if @classes.size > 2
    reduce(table) if table.size > MOST_CLASSES
  end

  # The sum of all classes stays correct: what is dropped belongs to the class `*` from now on.
  def reduce(table)
    dropped = table.sort_by { |_, cost| -cost[1] }.drop(KEPT_CLASSES)
    rest = table["*"] ||= [0, 0.0, 0.0]
    dropped.each do |name, cost|
      next if name == "*"
      table.delete(name)
      rest[0] += cost[0]
      rest[1] += cost[1]
      rest[2] = cost[2] if cost[2] > rest[2]
    end
  end

  def number_of(name)
    @class_numbers[name] ||= begin
      return 0 if @class_names.size >= MOST_CLASSES
      @class_names << name
      @class_names.size - 1
    end
  end

  # How many reads, misses and requests there were when the ring had so many records.
  def checkpoint
    point = [@file.written, @counts[HITS] + @counts[MISSES], @counts[MISSES], @counts[REQUESTS], now]
    return if @checkpoints.last.first(4) == point.first(4)
    @checkpoints << point
    return if @checkpoints.size <= CHECKPOINTS
    last = @checkpoints.last
    @checkpoints = @checkpoints.each_slice(2).map(&:first)
    @checkpoints << last unless @checkpoints.last.equal?(last)
  end

  # SHARDS with a fixed amount of memory: if the samples come too fast, fewer keys are sampled from now on.
  def slow_down
    rings = @file.written / ProcessFile::RECORDS
    wrapped_early = @file.written > ProcessFile::RECORDS && now - @since < RING_SECONDS * rings
    too_many = @sampled.to_i > MOST_SAMPLED * SECONDS
    return unless (wrapped_early && @file.written / ProcessFile::RECORDS > @halved.to_i) || too_many
    @halved = @file.written / ProcessFile::RECORDS
    factor = too_many ? [(MOST_SAMPLED * SECONDS) / @sampled.to_f, 0.5].min : 0.5
    @below = [(@below * factor).to_i, 1 << 12].max
    @segment&.sample(self, @below.fdiv(HASHES))
  end

  def note_bucket
    more = @counts.zip(@before).map { |after, before| after - before }
    return if more.all?(&:zero?)
    @changed = true
    @before = @counts.dup
    bucket = @buckets[now / BUCKET_SECONDS] ||= Array.new(FIGURES.size, 0)
    more.each_with_index { |number, index| bucket[index] += number }
    @buckets.shift if @buckets.size > BUCKETS
  end

  def to_h
    { "version" => 1, "id" => @file.id, "pid" => @pid, "since" => @since, "at" => now, "store" => @name,
      "figures" => FIGURES.map(&:to_s).zip(@counts).to_h, "buckets" => @buckets, "classes" => @classes,
      "ring" => { "written" => @file.written, "below" => @below, "classes" => @class_names,
                  "checkpoints" => @checkpoints },
      "words" => @key_class.words.to_a, "audit" => Tiercel::Insight.audit_findings }
  end

  # Once a minute: the words and the files of other processes.
  def housekeeping
    return if now - @folded_at < 60
    @folded_at = now
    ProcessFile.all(@folder).each { |other| @key_class.words.learn(Array(other["words"])) }
    ProcessFile.fold(@folder)
  end

  def warn_once(error)
    return if @warned
    @warned = true
    ActiveSupport::Cache::Store.logger&.warn("tiercel-insight: the figures cannot be written: #{error.message}")
  end
end
