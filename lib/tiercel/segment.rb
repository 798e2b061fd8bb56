# frozen_string_literal: true

require "fileutils"

require_relative "errors"
require_relative "clock"
require_relative "clock/patches"
require_relative "counter"
require_relative "extensions"
require_relative "segment/notice"
require_relative "sizes"

Tiercel::Extensions.demand("segment")

module Tiercel
  # One cache in memory that all processes of a machine share (or, without a
  # path, private memory of one process), through the C extension.
  #
  #   segment = Tiercel::Segment.open("/dev/shm/example", bytes: 64 << 20)
  #   segment.set("key", "value", 60)
  #   segment.get("key")  # => "value"
  #
  # The methods that {Backend} has too are described there: get, get_multi,
  # get_with_token, set, set_multi, add, compare_and_set, delete, delete_multi,
  # touch, stats and close. Besides them, for the store's fast path:
  #
  # - `read(key, version = nil, ahead = nil)`: nil if absent. A frame that is a String as it is and not over comes
  #   back decoded: fresh, mutable, in its encoding. Any other comes back whole and *frozen*; where the memo wants
  #   what is decoded of it, as a frozen Array of the frame and the entry's token, for `keep`
  # - `read_frozen(key, version = nil)`: the same for values that all readers share, which are frozen; what has to be
  #   decoded is an Array that is *not* frozen: the frame, and the token where the memo wants the value
  # - `keep(key, token, value, frame, version, bytes)`: gives the memo the value that was decoded of a frame, a String
  #   (bytes: nil; a copy is kept) or a frozen value with the bytes of all that is in it; true if it is kept
  # - `read_multi(keys, frames = nil, versions = nil)`: Hash of what `read` gives, without the absent ones; the keys of
  #   what has to be decoded are added to the Array `frames`
  # - `write_string(key, string, expires_at, ttl)`: stores the frame of a String, true if stored,
  #   false if too large, nil if its encoding has no frame type (UTF-8, binary and US-ASCII have)
  # - `memo_bytes = bytes`: how much this process keeps of the values that `read`, `read_multi` and `read_frozen` gave
  #   more than once (docs/memo.md). 0 (as at first) keeps none; nil keeps long values within a share of the machine's
  #   budget. `clear_memo` forgets them
  # - `unchanged?(key, token)`: whether the entry is there and still the one of the token; counts as a hit
  # - for a segment as a near tier (docs/memory-model.md, "Near fill"): `near_epoch(key)` before the farther read, nil
  #   while a writer is at work; `near_fill(key, bytes, ttl, epoch)` after it, true if it was made; or
  #   `near_fill_frame(key, frame, longest, epoch)`, which keeps to the frame's own end, nil for any that is not a copy
  #   as it is: with compressor, checksum or optional parts, of a lease, or no frame;
  #   `near_begin(keys)` before a change of what is behind, nil for all keys; `near_fill` with what that gave;
  #   `near_end(keys, begun, filled)` after the change; `near_invalidate(key)`: no earlier epoch is good any more;
  #   `used_keys(cursor, entries, buckets)`: the next cursor, nil at the end, and of about so many entries, in at most
  #   so many buckets of the index, the keys of those that were read since they were written or last moved
  # - for a near tier that others may change behind ({Tiers::Coverage}): `near_cover(since, sent)`, `near_covered`,
  #   `near_gaps`, `near_clear`; `near_trust = seconds` has this handle's reads be misses so long after the covered
  #   time, but for `get_late(key)`, `get_late_with_token(key)`, `near_epoch(key, true)`; `near_trusted?`;
  #   `near_trust_recorded = seconds` as well, once anybody has covered them; `near_uncover(covered)`: nobody does now
  #
  # A segment is for the main Ractor: Ruby raises Ractor::UnsafeError elsewhere.
  # docs/memory-model.md has the promises between processes.
  class Segment
    # Part of the names of files, so that two layouts live side by side.
    LAYOUT_VERSION = 2
    MINIMUM_BYTES = 1 << 20
    DEFAULT_MODE = 0o600

    class << self
      # @param path [String, nil] of the file; nil: private memory of this process
      # @param bytes [Integer] of a new file; one that exists keeps its own
      # @param least_bytes [Integer] where `bytes` are not free, down to these; 0: `bytes` or an error
      # @param shards [Integer] a power of two up to 64; 0: as many as have 8 MB each (in private memory: one)
      # @param average_entry_bytes [Integer] what the index is made for; 0: 512
      # @param mode [Integer] permissions of a new file
      # @param hash_key [String, nil] 16 bytes instead of random ones, so that tests see the same evictions
      # @return [Segment]
      # @raise [ConfigurationError] if it cannot be
      def open(path = nil, bytes:, least_bytes: 0, shards: 0, average_entry_bytes: 0, mode: DEFAULT_MODE, hash_key: nil)
        path = ::File.expand_path(path) if path
        attach(path, bytes, least_bytes, shards, average_entry_bytes, mode, hash_key)
      rescue Unavailable => error
        raise ConfigurationError, error.message
      end

      # Attaches to a segment that exists, whatever its size.
      #
      # @param path [String]
      # @return [Segment]
      # @raise [Unavailable] if there is none, or it is from before the last boot, damaged or another user's
      def open_existing(path)
        raise Unavailable, "#{path} does not exist" unless ::File.exist?(path)
        attach(::File.expand_path(path), 0, 0, 0, 0, DEFAULT_MODE, nil)
      end

      # Attaches to a segment that exists, as {open_existing}. Should its file be lost, the handle makes it again, as
      # large as it was.
      #
      # @param (see .open_existing)
      # @return (see .open_existing)
      # @raise (see .open_existing)
      def join(path)
        raise Unavailable, "#{path} does not exist" unless ::File.exist?(path)
        attach_existing(::File.expand_path(path))
      end

      # Removes a segment. Processes that use it make a new one, as large as it was.
      #
      # @param path [String]
      # @param only_unused [Boolean] only if no process is registered on it
      # @return [Boolean] false if it is in use
      # @raise [Unavailable] if the path is not a segment of this user
      def remove(path, only_unused: false)
        remove_file(path, only_unused).tap { |removed| remove_companions(::File.expand_path(path)) if removed }
      end

      # Puts a new, empty segment in the place of another. Processes that use
      # the old one move to it.
      #
      # @param path [String]
      # @param bytes [Integer] its size
      # @param shards [Integer] 0: as many as were asked for when the old one was made (fewer where so many do not fit)
      # @param average_entry_bytes [Integer] 0: those of the old one
      # @param mode [Integer] 0: that of the old one
      # @return [void]
      # @raise [Unavailable] if it cannot be
      def replace(path, bytes:, shards: 0, average_entry_bytes: 0, mode: 0)
        replace_file(path, bytes, shards, average_entry_bytes, mode)
      end

      private

      # The deletes that tiers behind it wait for (Tiers::Journal), and its accounts.
      def remove_companions(path)
        beginnings = %w[journal- account].map { |word| "#{::File.basename(path)}.#{word}" }
        names = Dir.children(::File.dirname(path)).select { |name| name.start_with?(*beginnings) }
        FileUtils.rm_f(names.map { |name| ::File.join(::File.dirname(path), name) })
      end

      # Called from C.
      def raise_error(errno, message)
        message = message.gsub(/\b\d{5,} bytes\b/) { |text| Sizes.human(text.to_i) }
        raise Unavailable.new(message), cause: (SystemCallError.new(nil, errno) unless errno.zero?)
      end

      # Called from C, by the one process that replaced the file.
      def report_replaced(message)
        Notice.damaged("#{message}; a new, empty segment was put in its place")
      end

      # Called from C, where the file is gone and too large to be made within a call.
      #
      # @param segment [Segment]
      # @param begins [Boolean] false if a thread makes it already
      # @raise [Unavailable] the first time
      # @raise [BreakerOpen] from then on, until it is there
      def make_again(segment, begins)
        unless begins
          raise BreakerOpen.new("the segment is being made again", backend: "shared:#{segment.path}")
        end
        make_in_background(segment)
        raise Unavailable.new("the file of the segment is gone; a new one of the same size is being made in the " \
                              "background", backend: "shared:#{segment.path}")
      end

      def make_in_background(segment)
        Thread.new do
          Thread.current.report_on_exception = false
          segment.send(:attach_now)
        rescue Unavailable => error
          next if error.cause.is_a?(Errno::EAGAIN) # another process makes it
          Notice.warn("#{segment.path} cannot be made again at present: #{error.message}")
        end
      rescue ThreadError
        segment.send(:attach_now) # no thread can be had
      end

      # Called from C, for results that are no answers.
      def raise_result(result, segment, key, errno)
        place = "shared:#{segment.path}"
        case result
        when :busy
          raise TimedOut.new("the lock of this key's shard was not free within 250 ms; nothing was written",
                             backend: place, key: key)
        when :read_only
          raise Refused.new(why_read_only(segment, errno), backend: place, key: key)
        when :still_read_only # said once; like an open breaker, it is not reported for each call
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

    # @private
    # @return [#sampled] gets the key of one read of 1,024 that finds a value
    attr_writer :sampler

    Clock::Patches.watch { |original| self.reads_clock = original }

    # As {Backend#increment}.
    def increment(key, amount = 1, ttl = nil)
      Counter.in_range(amount, key)
      add_to_counter(key, amount, ttl) or raise_not_a_counter(key, amount)
    end

    # As {Backend#scan}.
    def scan(prefix = nil, &block)
      return enum_for(:scan, prefix) unless block
      each_batch(prefix, false) { |keys| keys.each(&block) }
    end

    # Goes through the entries with what they take.
    #
    # @param prefix [String, nil]
    # @yieldparam key [String]
    # @yieldparam value_bytes [Integer]
    # @yieldparam allocated_bytes [Integer] with header, key and rounding
    # @yieldparam log [Symbol] :small or :main
    # @yieldparam hits [Integer] 0 to 3, since it was written or last moved
    # @return [void]
    def each_entry(prefix = nil)
      each_batch(prefix, true) { |entries| entries.each { |entry| yield(*entry) } }
    end

    # @return [String]
    def inspect = "#<#{self.class.name} #{path || "private"}>"

    private

    BATCH = 256
    # After so long a pass over many entries gives other threads their turn.
    TURN_SECONDS = 0.005
    private_constant :BATCH, :TURN_SECONDS

    def each_batch(prefix, described)
      cursor = nil
      turn_ends_at = Clock.monotonic + TURN_SECONDS
      loop do
        cursor, found = walk(cursor, prefix || "", BATCH, described)
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
      raise NotACounter, "#{key.inspect} held bytes that are not a decimal 64-bit number; nothing was changed"
    end
  end
end
