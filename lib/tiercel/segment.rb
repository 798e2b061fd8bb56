# frozen_string_literal: true

require "tiercel"

Tiercel::Extensions.load("segment")

module Tiercel
  # A cache in memory that all processes of a machine share (or, without a path, private memory of one process). The C
  # extension implements it.
  #
  #   segment = Tiercel::Segment.open("/dev/shm/example", bytes: 64 << 20)
  #   segment.set("key", "value", 60)
  #   segment.get("key")  # => "value"
  #
  # {Backend} documents the methods that both have: get, get_multi, get_with_token, set, set_multi, add,
  # compare_and_set, delete, delete_multi, touch, stats and close. {Accessor} uses further methods:
  #
  # - `read(key, version = nil)`: nil if absent. An unexpired frame of an uncompressed String is returned
  #   decoded: a new, mutable String in its encoding. Any other frame is returned whole and *frozen*; if the memo
  #   wants its decoded value, as a frozen Array of the frame and the entry's token, for `keep`.
  # - `read_frozen(key, version = nil)`: as `read`, for frozen values that all readers share. A frame that must be
  #   decoded is returned in an Array that is *not* frozen: the frame, and the token if the memo wants the value.
  # - `keep(key, token, value, frame, version, bytes)`: passes the decoded value of a frame to the memo: a String
  #   (bytes: nil; the memo copies it), or a frozen value with the size of everything in it. Returns true if the memo
  #   keeps it.
  # - `read_multi(keys, frames = nil, versions = nil)`: a Hash of the results of `read`, without absent keys. Adds the
  #   keys of undecoded frames to the Array `frames`.
  # - `write_string(key, string, expires_at, ttl)`: stores the frame of a String. Returns true if stored, false if too
  #   large, nil if its encoding has no frame type (UTF-8, binary and US-ASCII have one).
  # - `memo_bytes = bytes`: limits the memory for values that this process keeps after it has read them more than once
  #   (docs/memo.md). 0, the initial value, keeps none; nil keeps long values within a share of the machine's budget.
  #   `clear_memo` drops them.
  #
  # Methods for a segment as a near tier (memory-model.md, "Near fill"):
  #
  # - `near_epoch(key)`: call it before the read from the last tier; nil while another caller changes the key
  # - `near_fill(key, bytes, ttl, epoch)`: stores the copy after that read; true if stored
  # - `near_fill_frame(key, frame, longest, epoch)`: the same, with the frame's own expiry. Returns nil for a frame
  #   that cannot be copied unchanged: with a compressor, a checksum or optional parts, a lease, or not a frame
  # - `near_begin(keys)`: call it before a change in the last tier, with nil for all keys; pass its result to
  #   `near_fill` and `near_end`
  # - `near_end(keys, begun, filled)`: call it after the change
  # - `near_invalidate(key)`: makes every earlier epoch of the key invalid
  #
  # Methods for a near tier behind which other processes change entries ({Tiers::Coverage}):
  #
  # - `near_cover(since, sent)`, `near_covered`, `near_gaps`, `near_clear`
  # - `near_trust = seconds`: this handle's reads miss once the covered time is older than `seconds`, except
  #   `get(key, true)`, `get_with_token(key, true)` and `near_epoch(key, true)`
  # - `near_trusted?`
  # - `near_trust_recorded = seconds`: the same, once any process has covered the segment
  # - `near_uncover(covered)`: ends the coverage
  #
  # A segment belongs to the Ractor that opened it. Several Ractors open the same path, like processes (an experiment;
  # call {Tiercel.eager_load!} first, because other Ractors load no files). memory-model.md lists the guarantees between
  # processes.
  class Segment
    autoload :Absent, "tiercel/segment/absent"
    autoload :EvictionModel, "tiercel/segment/eviction_model"
    autoload :MemoryLimits, "tiercel/segment/memory_limits"
    autoload :Place, "tiercel/segment/place"
    autoload :Report, "tiercel/segment/report"

    # Part of the file names, so that files of two layouts can coexist.
    LAYOUT_VERSION = 3
    DEFAULT_MODE = 0o600

    class << self
      # @param path [String, nil] the path of the file; nil for private memory of this process
      # @param bytes [Integer] the size of a new file; an existing file keeps its size
      # @param least_bytes [Integer] the minimum size of a new file if less than `bytes` is free; 0 to raise an error
      #   instead
      # @param shards [Integer] a power of two up to 64; 0 for as many as get 8 MB each (one in private memory)
      # @param mode [Integer] permissions of a new file
      # @param hash_key [String, nil] 16 bytes in place of random ones, for tests that need repeatable evictions
      # @return [Segment]
      # @raise [ConfigurationError] if the segment cannot be created
      def open(path = nil, bytes:, least_bytes: 0, shards: 0, mode: DEFAULT_MODE, hash_key: nil)
        path = ::File.expand_path(path) if path
        attach(path, bytes, least_bytes, shards, 0, mode, hash_key)
      rescue Unavailable => error
        raise ConfigurationError, error.message
      end

      # Attaches to an existing segment, whatever its size.
      #
      # @param path [String]
      # @return [Segment]
      # @raise [Unavailable] if there is no segment, or it is damaged, older than the last boot or owned by another
      #   user
      def open_existing(path)
        raise Unavailable, "#{path} does not exist" unless ::File.exist?(path)
        attach(::File.expand_path(path), 0, 0, 0, 0, DEFAULT_MODE, nil)
      end

      # Attaches to an existing segment, as {open_existing} does. If the file is lost later, the handle recreates it
      # with the same size.
      #
      # @param (see .open_existing)
      # @return (see .open_existing)
      # @raise (see .open_existing)
      def join(path)
        raise Unavailable, "#{path} does not exist" unless ::File.exist?(path)
        attach_existing(::File.expand_path(path))
      end

      # Removes a segment. Processes that use it create a new one of the same size.
      #
      # @param path [String]
      # @param only_unused [Boolean] whether to remove it only if no process is registered on it
      # @return [Boolean] false if the segment is in use
      # @raise [Unavailable] if the path is not a segment of this user
      def remove(path, only_unused: false)
        remove_file(path, only_unused)
      end

      # Replaces a segment by a new, empty one. Processes that use the old segment switch to the new one.
      #
      # @param path [String]
      # @param bytes [Integer] the size of the new segment
      # @param mode [Integer] 0 for the old segment's value
      # @return [void]
      # @raise [Unavailable] if the segment cannot be replaced
      def replace(path, bytes:, mode: 0)
        replace_file(path, bytes, mode)
      end

      private

      # Called from C.
      def raise_error(errno, message)
        message = message.gsub(/\b\d{5,} bytes\b/) { |text| Sizes.human(text.to_i) }
        raise Unavailable.new(message), cause: (SystemCallError.new(nil, errno) unless errno.zero?)
      end

      # Called from C once, before the first call that needs the time.
      def reads_clock? = Clock.stays?

      # Called from C if the file is gone, and an attempt in the same second could not recreate it and has reported why.
      #
      # @param segment [Segment]
      # @raise [BreakerOpen]
      def raise_paused(segment)
        raise BreakerOpen.quick("the segment's file is gone and cannot be recreated at present",
                                backend: "shared:#{segment.path}")
      end

      # Called from C, by the process that replaced the file.
      def report_replaced(message)
        message = "#{message}; a new, empty segment replaces it"
        Reports.handled(Unavailable.new(message))
        Reports.log { message }
      end

      # Called from C, for results that become exceptions.
      def raise_result(result, segment, key, errno)
        place = "shared:#{segment.path}"
        case result
        when :busy
          raise TimedOut.new("the lock of this key's shard was not free within 250 ms; nothing was written",
                             backend: place, key: key)
        when :read_only
          raise Refused.new(why_read_only(segment, errno), backend: place, key: key)
        when :still_read_only # reported once; then skipped like an open breaker
          raise BreakerOpen.new("not written: this process is not registered on the segment", backend: place, key: key)
        else
          raise Unavailable.new("the segment is being replaced", backend: place, key: key)
        end
      end

      def why_read_only(segment, errno)
        if errno.zero?
          return "512 processes use this segment already: this one can read and delete only, until one of them ends"
        end
        why = SystemCallError.new(nil, errno).message
        "this process cannot register on the segment, so it can read and delete only: #{segment.path}.lock cannot be " \
          "opened or locked (fcntl): #{why}. The limit on open files, the container's seccomp profile and the file " \
          "system have to allow both"
      end
    end

    # Passes each read and `set` of a share of the keys to an observer. All processes of a segment choose the same keys.
    #
    # @private
    # @param observer [#sampled, nil] receives the key, 53 bits of its hash, the value's bytes (-1: a miss; -2 - bytes:
    #   a write), and the epoch seconds of its expiry. The keys with hashes below `share * 2**53` are chosen
    # @param share [Float] 0.0 to 0.5
    # @return [void]
    def sample(observer, share)
      @observer = observer
      self.sample_below = observer ? share : 0.0
    end

    # As {Backend#increment}.
    def increment(key, amount = 1, ttl = nil)
      Counter.in_range(amount, key)
      add_to_counter(key, amount, ttl) or raise_not_a_counter(key, amount)
    end

    # The figures of {Backend#stats}, the segment's content and what its processes have done.
    def stats
      content = CONTENT.zip(content_figures).to_h
      _, processes, _, shards = counter_figures
      counts = PROCESS_COUNTERS.zip(processes).to_h.except(nil, :served)
      memo, content = content.partition { |name, _| name.start_with?("memo_") }.map(&:to_h)
      { **content, **counts, **evictions(shards), **memo }
    end

    # The figures that tiercel-insight adds up. Reads no entry. Empty for closed private memory.
    #
    # @private
    def counters
      file_id, processes, here, shards = counter_figures
      return {} unless file_id
      of_process = ->(counts) { PROCESS_COUNTERS.zip(counts).to_h.slice(:served, :writes, :deletes, :misses) }
      { file_id:, **of_process[processes], **of_process[here].transform_keys { |name| :"#{name}_here" },
        **evictions(shards) }
    end

    # @param cursor [String, nil] nil to start
    # @param entries [Integer] the approximate number of entries to visit
    # @param buckets [Integer] the largest number of buckets of the index to visit
    # @return [Array(String, Array<String>)] the next cursor (nil at the end), and the keys that were read since they
    #   were written or last moved
    def used_keys(cursor, entries, buckets)
      walk(cursor, "", entries, buckets, true)
    end

    # As {Backend#scan}.
    def scan(prefix = nil, &block)
      return enum_for(:scan, prefix) unless block
      each_batch(prefix) { |keys| keys.each(&block) }
    end

    # Deletes all keys with this prefix. A lease does not contain its key, so all leases end. If another process
    # replaces the file concurrently, the new file is cleared too.
    #
    # @return [Integer] the number of deleted entries
    def clear_prefix(prefix)
      deleted = 0
      while true
        id = file_id
        end_leases
        each_batch(prefix) { |keys| deleted += delete_multi(keys) }
        return deleted if file_id == id
      end
    end

    # @return [String]
    def inspect = "#<#{self.class.name} #{path || "private"}>"

    private

    BATCH = 256
    # After this time, an iteration over many entries lets other threads run.
    TURN_SECONDS = 0.005
    ALL_BUCKETS = 1 << 40
    # The names of the figures from C, in the order of layout.h; nil for a figure that nobody reads.
    CONTENT = %i[entries bytes dead_bytes log_bytes size_bytes shards processes leases memo_entries memo_bytes
                 memo_limit_bytes memo_hits memo_evictions].freeze
    PROCESS_COUNTERS = [*%i[hits misses writes deletes refused_writes lock_waits lock_timeouts], nil, nil, nil, nil,
                        *%i[lease_waits lease_takeovers lease_table_full], nil, :served].freeze
    SHARD_COUNTERS = [*%i[small_evictions main_evictions expired_evictions bound_evictions index_evictions], nil,
                      *%i[reappends ghost_hits lock_takeovers resets]].freeze
    private_constant :BATCH, :TURN_SECONDS, :ALL_BUCKETS, :CONTENT, :PROCESS_COUNTERS, :SHARD_COUNTERS

    def evictions(shards) = { evictions: shards.first(5).sum, **SHARD_COUNTERS.zip(shards).to_h.except(nil) }

    def each_batch(prefix)
      cursor = nil
      turn_ends_at = Clock.monotonic + TURN_SECONDS
      while true # `loop` would swallow a StopIteration of the caller's block
        cursor, found = walk(cursor, prefix || "", BATCH, ALL_BUCKETS, false)
        yield found
        break unless cursor
        next if Clock.monotonic < turn_ends_at
        Thread.pass
        turn_ends_at = Clock.monotonic + TURN_SECONDS
      end
    end

    def raise_not_a_counter(key, amount)
      bytes = get(key)
      Counter.add(bytes, amount, key) if bytes
      raise NotACounter, "the key #{KeyMask.of(key)} has bytes that are not a decimal 64-bit number; " \
                         "nothing was changed"
    end
  end
end
