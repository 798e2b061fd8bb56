# frozen_string_literal: true

# The contract of every backend. A backend stores bytes under keys.
#
# A backend handles bytes, keys, TTLs and atomic primitives. A backend knows nothing about Ruby objects, names,
# namespaces or Rails' options. The layers above are written once and behave the same on every backend.
#
# == Rules for every method
#
# - `key`: a non-empty String of any bytes and any encoding; two keys are equal if their bytes are equal. A backend
#   whose medium cannot hold such a key encodes it internally ({#scan} yields the original key, in binary or UTF-8).
# - `bytes`: a String. A read returns exactly the bytes that were written, in ASCII-8BIT. A backend may keep the
#   String that it receives and may return a frozen one, so callers modify neither. Empty Strings are values.
# - `ttl`: seconds from now (Numeric, > 0), or nil for an entry that never expires. Every method treats an expired
#   entry as absent. A backend may free the space of an expired entry later. "Now" is {Clock.now}, which reads this
#   process' `Time.now`; only remote servers use their own clock.
# - A backend may lose an entry at any time (eviction). A backend never loses a delete, and never returns bytes other
#   than the last ones written.
# - Every method is atomic for each key, across all threads and processes that use the backend. Every method is safe
#   after a fork: a child shares no connection, lock or file offset with its parent.
# - If the medium fails, the method raises a {BackendError} and no other class (see {Unavailable}, {TimedOut},
#   {PoolExhausted}, {Refused}); its cause is the library's error. A failed call leaves no response behind that a
#   later caller could receive. No method blocks for longer than the backend's time budget.
# - Tokens are opaque and compared with `==`. A token is valid only in the process that read it, and no longer valid
#   after the bytes have changed. If the bytes change back, the token may be valid again.
#
# Traits describe the backend to the layers above. The suite `test/contracts/backend_contract.rb` tests all of these
# rules.
#
# @abstract Subclasses implement every method that raises NotImplementedError here.
class Tiercel::Backend
  # --- traits ---
  #
  # The properties of a backend. The layers above read them to decide how to treat its entries and failures. The
  # properties never change during a backend's life, except {#answers_elsewhere?}.

  # Returns whether a get costs less than compression or a checksum. A backend in memory stores small values
  # uncompressed and without a checksum. The backend needs neither Rails' request-local cache nor a circuit breaker.
  #
  # @return [Boolean]
  def in_memory? = false

  # Returns whether the backend reports all changes of keys ({Backend#subscription}). This allows long-lived near
  # copies ({Tiers}).
  #
  # @return [Boolean]
  def subscribable? = false

  # Returns whether the entries are on a server. A server expires entries by its own clock, and its connections can
  # fail.
  #
  # @return [Boolean]
  def remote? = false

  # @return [Boolean] whether it combines two backends ({Tiers}) and its reads return which one answered
  def tiered? = false

  # @return [Boolean] whether Rails' request-local cache saves time in front of this backend
  def local_cache? = !in_memory?

  # In memory, compression saves time only with large values.
  MEMORY_COMPRESS_THRESHOLD_BYTES = 128 * 1024

  # @return [Integer, nil] default minimum size in bytes for compression; nil for Rails' default
  def compress_threshold_bytes = in_memory? ? MEMORY_COMPRESS_THRESHOLD_BYTES : nil

  # @return [Boolean] whether frames carry a checksum of their payload by default
  def checksum? = !in_memory?

  # @return [Boolean] whether the keys are spread over several servers, some of which may fail while others answer
  def several_servers? = false

  # Called after a failure. Each of several servers has its own breaker; the store's breaker covers all of them.
  #
  # @return [Boolean] whether at least one of several servers is not known to be failing
  def answers_elsewhere? = false

  # --- the parts of a store that depend on its backend ---
  #
  # This default works for every backend; a backend with a faster path overrides it.

  # @private
  # @param options [Hash] see {Guard#initialize}
  # @return [Guard] the guard for all calls of the store to this backend
  def build_guard(**options) = Tiercel::Guard.new(self, **options)

  # @private
  # @param guard [Guard]
  # @param coder [Coder]
  # @param frozen [Boolean] whether values of plain types are returned deep-frozen
  # @param stale_if_error [Float, nil] seconds for which near copies may be served while the backend behind them
  #   fails
  # @return [Accessor] reads and writes values
  def build_accessor(guard, coder, frozen: false, stale_if_error: nil) # rubocop:disable Lint/UnusedMethodArgument
    Tiercel::Accessor.new(self, guard, coder, frozen:)
  end

  # @private
  # @param guard [Guard]
  # @return [Leases]
  def build_leases(guard) = Tiercel::Leases::Placeholders.new(self, guard)

  # @private
  # @param prefix [String, nil] the common prefix of all keys of the store
  # @return [void]
  def prefix=(prefix); end

  # --- entries ---

  # @param key [String]
  # @return [String, nil] the bytes, nil if absent
  def get(key) = raise(NotImplementedError)

  # @param keys [Array<String>]
  # @return [Hash{String => String}] the entries that are present, in the order of `keys`; its keys are the objects
  #   passed in. Needs one trip if the medium allows it.
  def get_multi(keys)
    keys.each_with_object({}) do |key, found|
      bytes = get(key)
      found[key] = bytes if bytes
    end
  end

  # @param key [String]
  # @return [Array(String, Object), nil] bytes and the token for {#compare_and_set}, nil if absent
  def get_with_token(key) = raise(NotImplementedError)

  # @param keys [Array<String>]
  # @return [Hash{String => Array(String, Object)}] as {#get_with_token}. Needs one trip if the medium allows it.
  def get_multi_with_tokens(keys) = keys.to_h { |key| [key, get_with_token(key)] }.compact

  # @param bytes [String] the bytes that a read has returned
  # @return [Object, nil] their token, if it needs no trip
  def token_of(bytes) = nil # rubocop:disable Lint/UnusedMethodArgument

  # Writes the entry and replaces an existing one.
  #
  # @param key [String]
  # @param bytes [String]
  # @param ttl [Numeric, nil] seconds
  # @return [Boolean] true if the bytes are stored; false if they are too large for this backend, in which case the
  #   old entry is deleted
  def set(key, bytes, ttl = nil) = raise(NotImplementedError)

  # @param pairs [Hash{String => String}] keys and bytes
  # @param ttl [Numeric, nil] seconds, for all of them
  # @return [Boolean] whether all of them are stored. Needs one trip if the medium allows it.
  def set_multi(pairs, ttl = nil)
    pairs.reduce(true) { |all, (key, bytes)| set(key, bytes, ttl) && all }
  end

  # Writes the entry if the key is absent.
  #
  # @return [Boolean] whether it was written
  def add(key, bytes, ttl = nil) = raise(NotImplementedError)

  # Writes the entry if the key is absent, otherwise reads the existing one. Needs one trip if the medium allows it.
  #
  # @return [true, Array(String, Object), nil] true if the entry was written; otherwise the existing bytes and their
  #   token, as {#get_with_token} returns them; nil if the existing entry vanished in between
  def add_or_get(key, bytes, ttl = nil) = add(key, bytes, ttl) || get_with_token(key)

  # Writes the entry if it has not changed since the token was read. Never restores a deleted entry.
  #
  # @param token [Object] from {#get_with_token}
  # @return [Boolean] whether the entry was written; false if the existing one changed or is gone
  def compare_and_set(key, bytes, token, ttl = nil) = raise(NotImplementedError)

  # Reads the bytes, their token and the remaining TTL.
  #
  # @return [Array(String, Object, Float), nil] as {#get_with_token}, followed by the maximum number of seconds
  #   left; nil in place of the seconds if the entry never expires, or if the backend does not know it
  def look(key)
    bytes, token = get_with_token(key)
    [bytes, token, nil] if bytes
  end

  # Writes if the key is absent or, given a token, if the entry has not changed since. Then reads the entry as
  # {#look} does. So the caller gets the token of its own entry, or the entry that prevented the write. If the
  # caller writes bytes that nobody else writes, it recognizes its own entry even after a lost response and a retry.
  # Needs one trip if the medium allows it.
  #
  # @param token [Object, nil]
  # @return [Array(String, Object, Float), nil] as {#look}
  def compare_exchange(key, bytes, ttl = nil, token = nil)
    token ? compare_and_set(key, bytes, token, ttl) : add(key, bytes, ttl)
    look(key)
  end

  # @return [Boolean] whether {#compare_exchange} of an absent key needs one trip, as {#get} does
  def exchanges_at_once? = false

  # @param pairs [Hash{String => String}] keys and bytes
  # @param tokens [Hash{String => Object}] the expected tokens by key; keys without a token must be absent
  # @return [Hash{String => Array(String, Object, Float)}] as {#compare_exchange}, for every key that has an entry
  #   afterwards. Needs one trip if the medium allows it.
  def compare_exchange_multi(pairs, ttl = nil, tokens = {})
    pairs.each_with_object({}) do |(key, bytes), found|
      there = compare_exchange(key, bytes, ttl, tokens[key])
      found[key] = there if there
    end
  end

  # @param changes [Hash{String => Array(String, Object)}] by key: the new bytes, and the token of the bytes that
  #   they replace
  # @param ttl [Numeric, nil] seconds, for all of them
  # @return [Array<String>] the keys that were written, as by {#compare_and_set}. Needs one trip if the medium
  #   allows it.
  def compare_and_set_multi(changes, ttl = nil)
    changes.filter_map { |key, (bytes, token)| key if compare_and_set(key, bytes, token, ttl) }
  end

  # @return [Boolean] whether the key had an entry
  def delete(key) = raise(NotImplementedError)

  # @param keys [Array<String>]
  # @return [Integer] how many of the keys had an entry
  def delete_multi(keys) = keys.count { |key| delete(key) }

  # Deletes the frames under these keys. One atomic step checks and deletes each key: raw bytes, counters and frames
  # written with `unless_exist` stay ({Frame.replaceable?}). A late delete therefore never removes another caller's
  # lock.
  #
  # @param keys [Array<String>]
  # @return [Hash{String => BackendError}] the keys whose delete failed, and the errors
  def delete_frames(keys)
    away = nil
    keys.each_with_object({}) do |key, failed|
      away ? failed[key] = away : delete_frame(key)
    rescue Tiercel::BackendError => error
      failed[key] = error
      away = error if error.is_a?(Tiercel::Unavailable) && !several_servers?
    end
  end

  # Adds to a counter: decimal ASCII digits with an optional minus sign, in the signed 64-bit range. An absent key
  # starts at `amount` with `ttl`; an existing counter keeps its expiry.
  #
  # @param key [String]
  # @param amount [Integer] may be negative
  # @param ttl [Numeric, nil] seconds, for a counter that this call creates
  # @return [Integer] the new count
  # @raise [NotACounter] if the key has other bytes, or the sum would leave the range; nothing changes
  def increment(key, amount = 1, ttl = nil) = raise(NotImplementedError)

  # Sets the expiry of an entry and leaves its bytes unchanged.
  #
  # @return [Boolean] whether the key had an entry
  def touch(key, ttl) = raise(NotImplementedError)

  # Iterates over the keys without blocking other callers for long. An entry that exists during the whole scan is
  # yielded at least once; other entries may or may not be yielded.
  #
  # @param prefix [String, nil] only keys that begin with these bytes
  # @yieldparam key [String]
  # @return [Enumerator, void] an Enumerator without a block
  def scan(prefix = nil) = raise(NotImplementedError)

  # Removes all entries, or all entries whose key begins with `prefix`. Entries written after the call began may
  # remain.
  #
  # @param prefix [String, nil]
  # @return [void]
  def clear(prefix = nil)
    return clear_all unless prefix
    scan(prefix).each_slice(1_000) { |keys| delete_multi(keys) }
  end

  # Frees the space of expired entries, if the backend does not do so by itself.
  #
  # @return [Integer] how many were removed
  def cleanup = 0

  # Releases the leases of this backend that are not entries, so that no scan finds them. Called before entries are
  # deleted by key.
  #
  # @return [void]
  def end_leases = nil

  # @return [Hash{Symbol => Object}] the values that the backend has for :entries, :bytes, :hits, :misses and
  #   :evictions (Integers), and further ones under other names
  def stats = raise(NotImplementedError)

  # Starts receiving invalidation messages now, instead of with the first read that needs them. Never waits.
  #
  # @return [Boolean] whether the process receives messages; false if it keeps no copies that could become stale
  def listen = false

  # Releases connections, descriptors and threads. A closed backend reopens on its next use.
  #
  # @return [void]
  def close; end

  # @return [Array<Backend>] the tiers of this backend, nearest first: only itself, unless it is a {Tiers}
  def tiers = [self]

  # @return [String] scheme and address for messages and {#inspect}, without a password
  def to_s = self.class.name

  # @return [String]
  def inspect = "#<#{self.class.name} #{self}>"

  # @param prefix [String, nil] limits the messages to keys with this prefix; nil for all keys
  # @return [#open, #read, #ask, #close] as {Backends::Redis::Subscription}
  # @raise [NotImplementedError] if the backend is not subscribable
  def subscription(prefix = nil) # rubocop:disable Lint/UnusedMethodArgument
    raise NotImplementedError, "#{self.class} sends no invalidation messages"
  end

  private

  def clear_all = raise(NotImplementedError)

  # Seconds for which a backend keeps an expired frame that replaced another frame, unless the caller deletes it.
  EXPIRED_TTL = 1.0

  # Uses {#compare_and_set}, which every backend has. A frame that changed in between is newer and therefore stays.
  def delete_frame(key)
    bytes, token = get_with_token(key)
    compare_and_set(key, Tiercel::Frame::EXPIRED, token, EXPIRED_TTL) if bytes && Tiercel::Frame.replaceable?(bytes)
  end
end
