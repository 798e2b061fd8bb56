# frozen_string_literal: true

require_relative "coder"
require_relative "deep_freeze"

module Tiercel
  # Stands between the store and the backend, behind the guard: a frame is read and written whole. The store's two ways
  # end here, the fast path in the first half, Rails' entries in the second. Subclasses know shorter ways, or stand in
  # front of another accessor.
  #
  # == Values
  #
  # - `read(key, version, event)`: the value, {MISS} where nothing is there, or a {Found}
  # - `read_multi(keys, versions, undecided, event)`: Hash of keys and values, in the order of the keys; where a
  #   value would be a {Found}, that is what is under the key, and the key is added to the Array `undecided`. Nil
  #   where the entries' way has to do it
  # - `write(key, value, version, expires_at, ttl, threshold)`: as `Store#write`
  #
  # A {Found} carries the bytes that were read: whatever has to be decided about them (expired, of another version,
  # damaged, a placeholder, not a frame) is decided on the entries' way without another trip.
  #
  # == Bytes
  #
  # `get`, `get_multi`, `set`, `set_multi`, `add`, `delete`, `delete_multi`, `count`, `delete_matching`, `clear`,
  # `cleanup` and `stats`: what a {Backend} does, asked once and through the {Guard}. None of them raises a
  # {BackendError}; where the backend failed they are worth what the failure contract says.
  #
  # == Parameters
  #
  # - `key`: String, normalized; `version`: String or nil, what the caller wants (nil takes any)
  # - `event`: the payload of the notification, or nil: an accessor that answers in the place of the backend writes
  #   under :store who it is
  # - `expires_at`: epoch seconds for the frame; `ttl`: seconds for the backend, nil for no end
  # - `threshold`: bytes from which the payload is compressed, nil for never
  #
  # @private
  class Accessor
    MISS = Coder::MISS

    # Bytes under a key of which a read cannot say by itself what they are worth.
    class Found < Coder::Signal
      # @return [String] what was read, frozen
      attr_reader :bytes
      # @return [Object, nil] for {Backend#compare_and_set}, where it is known without another trip
      attr_reader :token

      def initialize(bytes, token = nil)
        @bytes = bytes
        @token = token
        super("Found")
      end
    end

    # @return [Account, nil] that is told of reads and writes; one of several accessors in a row has it
    attr_accessor :account

    # @param backend [Backend, nil] nil for a subclass that asks another accessor
    # @param guard [Guard, nil]
    # @param coder [Coder]
    # @param frozen [Boolean] whether values of plain types come back deep-frozen
    def initialize(backend, guard, coder, frozen: false)
      @backend = backend
      @guard = guard
      @coder = coder
      @frozen = frozen
    end

    # @return [Boolean] whether {#read} compares the tags of an entry by itself
    def compares_tags? = false

    # --- values ---

    def read(key, version, event = nil)
      bytes = get(key, event)
      bytes.nil? ? MISS : decode(bytes, version) { token_of(bytes) }
    end

    # @param seconds [Float] for which a value has to last
    # @return [Object, Found] the value; a {Found} where it expires sooner, or where only its bytes tell
    def read_lasting(key, _version, _seconds, event = nil)
      bytes = get(key, event)
      bytes ? Found.new(bytes) : MISS
    end

    def read_multi(keys, versions, undecided, event = nil)
      decode_all(get_multi(keys, event), keys, versions, undecided)
    end

    def write(key, value, version, expires_at, ttl, threshold)
      set(key, @coder.dump_value(value, expires_at, version, !threshold.nil?, threshold || 0), ttl)
    end

    # --- bytes ---

    def get(key, _event = nil)
      bytes = @guard.call(:read_entry, key) { @backend.get(key) }
      bytes.nil? ? @account&.missed(key) : @account&.hit(key)
      bytes
    end

    # @param keys [Array<String>] different ones
    def get_multi(keys, _event = nil) = counted(keys, get_uncounted(keys))

    # @param tags [Tags::Named] that are told their generations, which are read in the same trip
    # @return [String, nil] as {#get}
    def get_tagged(key, tags, event = nil) = get_multi_tagged([key], tags, event)[key]

    # @return [Hash{String => String}] as {#get_multi}, and more
    def get_multi_tagged(keys, tags, _event = nil)
      get_uncounted(keys | tags.keys).tap { |found| tags.know(counted(keys, found)) }
    end

    # Nothing is remembered here, so the block of {RequestLocal#generations} is not asked.
    #
    # @param keys [Array<String>] of generations
    # @return [Hash{String => String}]
    def far_generations(keys, &) = @guard.call(:read_tags, returning: {}) { @backend.get_multi(keys) }
    alias generations far_generations

    # @param keys [Array<String>] of generations
    # @return [true, nil]
    def invalidate(keys)
      @guard.call(:invalidate_tags) { @backend.delete_multi(keys) && true }
    end

    def set(key, bytes, ttl)
      stored = @guard.call(:write_entry, key) do
        @backend.set(key, bytes, ttl) || @guard.too_large(key, bytes.bytesize)
      end
      written(stored)
    end

    # @return [Boolean] whether all are stored
    def set_multi(frames, ttl)
      stored = @guard.call(:write_multi_entries) do
        @backend.set_multi(frames, ttl) || @guard.too_large(nil, frames.sum { |_, frame| frame.bytesize })
      end
      written(stored, frames.size)
    end

    # Writes where nothing is, or where what is there has ended: bytes may outlive their end.
    #
    # @yieldparam present [String] the bytes that are in the way
    # @yieldreturn [Boolean] whether they have ended
    # @return [Boolean, nil] whether it was written
    def add(key, bytes, ttl)
      stored = @guard.call(:write_entry, key) do
        present, token = answer = @backend.add_or_get(key, bytes, ttl)
        next true if answer == true
        next @backend.add(key, bytes, ttl) unless token
        yield(present) ? @backend.compare_and_set(key, bytes, token, ttl) : false
      end
      written(stored)
    end

    def delete(key)
      @account&.deleted(1)
      @guard.call(:delete_entry, key, returning: false) { @backend.delete(key) }
    end

    def delete_multi(keys)
      @account&.deleted(keys.size)
      @guard.call(:delete_multi_entries, returning: 0) { @backend.delete_multi(keys) }
    end

    # Changes a counter, in one step or in several.
    #
    # @param operation [Symbol] for the report
    # @yieldparam backend [Backend] that keeps the counters
    # @yieldreturn [Integer, nil] the new count
    # @return [Integer, nil]
    def count(operation, key)
      written(@guard.call(operation, key) { yield @backend })
    end

    # @param pattern [KeyPattern]
    # @return [Integer, nil] how many went
    def delete_matching(pattern) = @guard.call(:delete_matched) { delete_scanned(pattern) }

    def clear(prefix)
      @guard.call(:clear) { @backend.clear(prefix) }
    end

    def cleanup = @guard.call(:cleanup) { @backend.cleanup }

    # @param method [Symbol] for the report
    def stats(method = :stats) = @guard.call(method) { @backend.stats }

    # Of what was written with `raw: true`.
    def get_raw(key, event = nil) = get(key, event)
    def get_multi_raw(keys, event = nil) = get_multi(keys, event)

    # Damaged frames are reported on the entries' way, once. The bytes are read by nobody else: what is frozen is
    # shared by the value at the price of one object less.
    #
    # @param bytes [String] what was under a key
    # @param version [String, nil]
    # @yieldreturn [Object, nil] the token of what is no plain value
    # @return [Object, Found]
    def decode(bytes, version)
      value = @coder.load_value(bytes.freeze, nil, version)
      return resolve(value, bytes, version, (yield if block_given?)) if Coder::Signal === value
      DeepFreeze.call(value) if @frozen
      value
    rescue MalformedFrame, SerializationError, ActiveSupport::Cache::DeserializationError
      Found.new(bytes)
    end

    # @param bytes [String] that were read just now
    # @param index [Integer] of the key, where several were read
    # @return [Object, nil] their token, where it is known without another trip
    def token_of(bytes, index = 0) = @backend.token_shown(bytes, @backend.last_read, index)

    private

    # @param signal [Coder::Signal]
    def resolve(signal, bytes, version, token) = Found.new(bytes, token)

    # Replacing the values of the Hash that is there looks no key up again.
    def decode_all(found, keys, versions, undecided)
      return with_versions(found, keys, versions, undecided) if versions
      unsure = false
      found.transform_values! do |bytes|
        value = decode(bytes, nil)
        unsure = true if Coder::Signal === value
        value
      end
      with_tokens(found, keys, undecided) if unsure
      found
    end

    def with_tokens(found, keys, undecided)
      at = keys.each_with_index.to_h
      found.each do |key, value|
        next unless Coder::Signal === value
        undecided << key
        found[key] = Found.new(value.bytes, token_of(value.bytes, at[key]))
      end
    end

    def with_versions(found, keys, versions, undecided)
      keys.each_with_index do |key, index|
        bytes = found[key] or next
        value = found[key] = decode(bytes, versions[index]) { token_of(bytes, index) }
        undecided << key if Coder::Signal === value
      end
      found
    end

    def get_uncounted(keys)
      @guard.call(:read_multi_entries, returning: {}) { @backend.get_multi(keys) }
    end

    def counted(keys, found)
      @account&.read_several(keys, found)
      found
    end

    def written(stored, count = 1)
      @account&.wrote(count) if stored
      stored
    end

    def delete_scanned(pattern)
      @backend.end_leases
      @backend.scan(pattern.prefix).lazy.select { |key| pattern.match?(key) }.each_slice(1_000)
              .sum { |keys| @backend.delete_multi(keys) }
    end
  end
end
