# frozen_string_literal: true

require_relative "backend/store_parts"
require_relative "backend/traits"
require_relative "clock"
require_relative "errors"
require_relative "frame"

module Tiercel
  # One place that keeps bytes under keys: the contract of every backend.
  #
  # A backend knows bytes, keys, TTLs and atomic primitives, nothing of Ruby
  # objects, names, namespaces or options of Rails. Everything above it is
  # written once and behaves the same on all of them.
  #
  # == Rules that hold for every method
  #
  # - `key`: a non-empty String of any bytes and any encoding; two keys are the
  #   same when their bytes are. A backend whose medium cannot hold such a key
  #   encodes it; nothing about that is seen from outside ({#scan} yields the
  #   keys as they were given, in binary or UTF-8).
  # - `bytes`: a String; what comes back is byte for byte the same, in
  #   ASCII-8BIT. A backend may keep the String it is given and may return a
  #   frozen one: callers change neither. Empty Strings are values.
  # - `ttl`: seconds from now (Numeric, > 0), or nil for "no end". After it the
  #   entry is absent for every method. A backend may be late with giving the
  #   room back, never with the answer. "Now" is {Clock.now}, that is
  #   `Time.now` as the process sees it; only remote servers use their own.
  # - A backend may lose an entry at any time (eviction); it never loses a
  #   delete, and never answers with bytes that were not the last ones written.
  # - Every method is atomic for each key, from any thread and process that
  #   uses the backend, and safe after a fork: a child shares no connection,
  #   lock or file offset with its parent.
  # - A medium that fails raises a {BackendError} (see {Unavailable},
  #   {TimedOut}, {PoolExhausted}, {Refused}), with the library's error as its
  #   cause, and no other class; a call that ended so leaves nothing behind
  #   that a later caller could receive. No method blocks longer than the time
  #   budget of the backend.
  # - Tokens are opaque, compared with `==`, and never repeat for a key whose
  #   bytes changed in between (not even when they changed back). They are
  #   good in the process that read them.
  #
  # {Traits} describes it to the layers above. The published suite {Contracts::BackendContract} tests all of this.
  #
  # @abstract Subclasses implement every method that raises NotImplementedError here.
  class Backend
    include Traits
    include StoreParts

    # @param key [String]
    # @return [String, nil] the bytes, nil if absent
    def get(key) = raise(NotImplementedError)

    # @param keys [Array<String>]
    # @return [Hash{String => String}] the present ones, in the order asked for; the keys are the
    #   objects that were passed. One trip where the medium allows.
    def get_multi(keys)
      keys.each_with_object({}) do |key, found|
        bytes = get(key)
        found[key] = bytes if bytes
      end
    end

    # @param key [String]
    # @return [Array(String, Object), nil] bytes and the token for {#compare_and_set}, nil if absent
    def get_with_token(key) = raise(NotImplementedError)

    # The token of the last {#get} or {#get_multi} of this thread or fiber. The caller asks for it before it
    # reads again.
    #
    # @return [Object, nil] for {#token_shown}
    def last_read = nil

    # Before a read that perhaps does not ask the backend: what an earlier one has shown is not to be taken for it.
    #
    # @return [void]
    def forget_last_read = nil

    # The token of bytes that a read has shown, where that needs no trip of its own.
    #
    # @param bytes [String] that the read gave
    # @param last_read [Object, nil] see {#last_read}
    # @param index [Integer] of the key, among those of a {#get_multi}
    # @return [Object, nil] for {#compare_and_set} and {#occupy}; nil where the backend does not know
    def token_shown(bytes, last_read, index = 0) = nil # rubocop:disable Lint/UnusedMethodArgument

    # Writes, whatever was there.
    #
    # @param key [String]
    # @param bytes [String]
    # @param ttl [Numeric, nil] seconds
    # @return [Boolean] true if it is stored, false if this value can never be (too large); where it
    #   is false the old value is gone
    def set(key, bytes, ttl = nil) = raise(NotImplementedError)

    # @param pairs [Hash{String => String}] keys and bytes
    # @param ttl [Numeric, nil] seconds, for all of them
    # @return [Boolean] whether all of them are stored. One trip where the medium allows.
    def set_multi(pairs, ttl = nil)
      pairs.reduce(true) { |all, (key, bytes)| set(key, bytes, ttl) && all }
    end

    # Writes if the key is absent.
    #
    # @return [Boolean] whether it was written
    def add(key, bytes, ttl = nil) = raise(NotImplementedError)

    # Writes if the key is absent, else reads what is there. One trip where the medium allows.
    #
    # @return [true, Array(String, Object), nil] true if it was written; else as {#get_with_token}: bytes and token of
    #   what is there, nil where that has gone meanwhile
    def add_or_get(key, bytes, ttl = nil) = add(key, bytes, ttl) || get_with_token(key)

    # Writes if the entry is still the one that the token came with. Never
    # brings back what was deleted.
    #
    # @param token [Object] from {#get_with_token}
    # @return [Boolean] whether it was written; false if the entry changed or is gone
    def compare_and_set(key, bytes, token, ttl = nil) = raise(NotImplementedError)

    # Reads bytes, token, and what is left of the TTL.
    #
    # @return [Array(String, Object, Float), nil] as {#get_with_token}, then the seconds that are left at most; nil
    #   in their place where the backend cannot tell by the clock that ends the TTL, or where there is no end
    def look(key)
      bytes, token = get_with_token(key)
      [bytes, token, nil] if bytes
    end

    # Writes if the key is absent, or (with a token) if the entry is still the one that it came with; then looks. So
    # the caller learns the token of what it wrote, or what is in the way. Bytes that no other caller writes tell the
    # caller whether they are its own, also where the answer to a first try was lost. One trip where the medium allows.
    #
    # @param token [Object, nil]
    # @return [Array(String, Object, Float), nil] as {#look}
    def occupy(key, bytes, ttl = nil, token = nil)
      token ? compare_and_set(key, bytes, token, ttl) : add(key, bytes, ttl)
      look(key)
    end

    # Reads as {#get} does, and writes where nothing was read: both are asked for at once, so that what is there is
    # given also where nothing can be written. One trip where the medium allows.
    #
    # @return [Array(String, Object, Float), nil] as {#occupy}; nil too where nothing is there and the write was refused
    def get_or_occupy(key, bytes, ttl = nil)
      present, token = get_with_token(key)
      present ? [present, token, nil] : occupy(key, bytes, ttl)
    rescue Refused
      nil
    end

    # @return [Boolean] whether {#get_or_occupy} costs no more trips than {#get}
    def occupies_at_once? = false

    # @param pairs [Hash{String => String}] keys and bytes
    # @param tokens [Hash{String => Object}] by key, of what is expected to be there; the others are expected to be
    #   absent
    # @return [Hash{String => Array(String, Object, Float)}] as {#occupy}, for those where something is. One trip where
    #   the medium allows.
    def occupy_multi(pairs, ttl = nil, tokens = {})
      pairs.each_with_object({}) do |(key, bytes), found|
        there = occupy(key, bytes, ttl, tokens[key])
        found[key] = there if there
      end
    end

    # @param changes [Hash{String => Array(String, Object)}] by key: bytes, and the token of what they are to replace
    # @param ttl [Numeric, nil] seconds, for all of them
    # @return [Array<String>] the keys that were written, as {#compare_and_set} does. One trip where the medium allows.
    def compare_and_set_multi(changes, ttl = nil)
      changes.filter_map { |key, (bytes, token)| key if compare_and_set(key, bytes, token, ttl) }
    end

    # @return [Boolean] whether there was something to delete
    def delete(key) = raise(NotImplementedError)

    # @param keys [Array<String>]
    # @return [Integer] how many were there
    def delete_multi(keys) = keys.count { |key| delete(key) }

    # Deletes the frames under these keys, each in one step that checks first: raw bytes, counters and frames written
    # with `unless_exist` stay ({Frame.replaceable?}). So a delete that comes late takes nobody's lock away.
    #
    # @param keys [Array<String>]
    # @return [Hash{String => BackendError}] the keys of which this failed, and why
    def delete_frames(keys)
      away = nil
      keys.each_with_object({}) do |key, failed|
        away ? failed[key] = away : delete_frame(key)
      rescue BackendError => error
        failed[key] = error
        away = error if error.is_a?(Unavailable) && !several_servers?
      end
    end

    # Adds to a counter: a value of decimal ASCII digits with an optional minus
    # sign, in the signed 64-bit range. An absent key starts at `amount` with
    # `ttl`; a present one keeps the end it has.
    #
    # @param key [String]
    # @param amount [Integer] may be negative
    # @param ttl [Numeric, nil] seconds, for a counter that this call creates
    # @return [Integer] the new count
    # @raise [NotACounter] if other bytes are there, or the range would be left; nothing changes
    def increment(key, amount = 1, ttl = nil) = raise(NotImplementedError)

    # Sets the end of an entry, leaving its bytes.
    #
    # @return [Boolean] whether the entry was there
    def touch(key, ttl) = raise(NotImplementedError)

    # Goes through the keys, blocking nobody for long. Entries that are there
    # from beginning to end are yielded at least once, others perhaps.
    #
    # @param prefix [String, nil] only keys that begin with these bytes
    # @yieldparam key [String]
    # @return [Enumerator, void] an Enumerator without a block
    def scan(prefix = nil) = raise(NotImplementedError)

    # Removes everything, or everything whose key begins with `prefix`.
    # Entries written after the call began may stay.
    #
    # @param prefix [String, nil]
    # @return [void]
    def clear(prefix = nil)
      return clear_all unless prefix
      scan(prefix).each_slice(1_000) { |keys| delete_multi(keys) }
    end

    # Gives back the room of entries whose TTL is over, where the backend does
    # not do so unasked.
    #
    # @return [Integer] how many were removed
    def cleanup = 0

    # Ends the leases that lie beside the entries, where no scan finds them: before entries are deleted by their names.
    #
    # @return [void]
    def end_leases = nil

    # Whether {#used} is worth calling at present.
    #
    # @return [Boolean]
    def uses_wanted? = false

    # Tells of reads that a tier before this one has answered, so that a backend that evicts by use keeps what they
    # were of. It costs no write of its own, and a trip only of a {#remote?} backend, which no caller waits for.
    #
    # @param keys [Array<String>] that were read lately; each counts as one read
    # @return [void]
    def used(keys) = nil # rubocop:disable Lint/UnusedMethodArgument

    # @return [Hash{Symbol => Object}] what the backend knows of :entries, :bytes, :hits, :misses and
    #   :evictions (Integers), and more under other names
    def stats = raise(NotImplementedError)

    # @return [Hash{Symbol => Object}, nil] {#stats} without those of the place that may be away; nil where that is all
    def stats_while_away = nil

    # Has this process hear of what others change, at once and not with the first read that needs it. Never waits.
    #
    # @return [Boolean] whether it is told of that; false where nothing is kept that could be old
    def listen = false

    # Gives back connections, descriptors and threads. A closed backend opens
    # again when it is used again.
    #
    # @return [void]
    def close; end

    # @return [Array<Backend>] that it is made of, nearest first: itself, unless it is {Tiers}
    def tiers = [self]

    # @return [String] scheme and place, for messages and {#inspect}; never a password
    def to_s = self.class.name

    # @return [String]
    def inspect = "#<#{self.class.name} #{self}>"

    # @param prefix [String, nil] of the keys whose changes are of interest; nil for all
    # @return [#open, #read, #ask, #close] as {Backends::Redis::Subscription}
    # @raise [NotImplementedError] where it is not subscribable
    def subscription(prefix = nil) # rubocop:disable Lint/UnusedMethodArgument
      raise NotImplementedError, "#{self.class} sends no changes"
    end

    private

    def clear_all = raise(NotImplementedError)

    # Seconds that a backend keeps the expired frame that has taken the place of another.
    EXPIRED_TTL = 1.0
    private_constant :EXPIRED_TTL

    # By {#compare_and_set}, which every backend has. A frame that has changed in between is newer.
    def delete_frame(key)
      bytes, token = get_with_token(key)
      compare_and_set(key, Frame::EXPIRED, token, EXPIRED_TTL) if bytes && Frame.replaceable?(bytes)
    end
  end
end
