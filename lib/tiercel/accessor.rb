# frozen_string_literal: true

require_relative "coder"
require_relative "deep_freeze"

module Tiercel
  # Stands between the store and the backend: one backend behind its guard, or other accessors. The store's
  # two ways end here, the fast path in the first half, Rails' entries in the second.
  #
  # == Values
  #
  # - `read(key, version, event)`: the value, {MISS} where nothing is there, or a {Found}
  # - `read_multi(keys, versions, unsettled, event)`: Hash of keys and values, in the order of the keys; where a
  #   value would be a {Found}, that is what is under the key, and the key is added to the Array `unsettled`. Nil
  #   where the entries' way has to do it
  # - `write(key, value, version, expires_at, ttl, threshold)`: as `Store#write`
  #
  # A {Found} carries the bytes that were read: whatever has to be decided about them (ended, of another version,
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
  # @abstract Subclasses implement the bytes, and may have shorter ways for the values.
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

    # @param coder [Coder]
    # @param frozen [Boolean] whether values of plain types come back deep-frozen
    def initialize(coder, frozen: false)
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
    def read_lasting(key, _version, _seconds)
      bytes = get(key)
      bytes ? Found.new(bytes) : MISS
    end

    def read_multi(keys, versions, unsettled, event = nil)
      settled(get_multi(keys, event), keys, versions, unsettled)
    end

    def write(key, value, version, expires_at, ttl, threshold)
      set(key, @coder.dump_value(value, expires_at, version, !threshold.nil?, threshold || 0), ttl)
    end

    # --- bytes ---

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
      return undecided(value, bytes, version, (yield if block_given?)) if Coder::Signal === value
      DeepFreeze.call(value) if @frozen
      value
    rescue MalformedFrame, SerializationError, ActiveSupport::Cache::DeserializationError
      Found.new(bytes)
    end

    # @param bytes [String] that were read just now
    # @param index [Integer] of the key, where several were read
    # @return [Object, nil] their token, where it is known without another trip
    def token_of(bytes, index = 0) = nil # rubocop:disable Lint/UnusedMethodArgument

    private

    # @param signal [Coder::Signal]
    def undecided(signal, bytes, version, token) = Found.new(bytes, token)

    # Replacing the values of the Hash that is there looks no key up again.
    def settled(found, keys, versions, unsettled)
      return with_versions(found, keys, versions, unsettled) if versions
      unsure = false
      found.transform_values! do |bytes|
        value = decode(bytes, nil)
        unsure = true if Coder::Signal === value
        value
      end
      with_tokens(found, keys, unsettled) if unsure
      found
    end

    def with_tokens(found, keys, unsettled)
      at = keys.each_with_index.to_h
      found.each do |key, value|
        next unless Coder::Signal === value
        unsettled << key
        found[key] = Found.new(value.bytes, token_of(value.bytes, at[key]))
      end
    end

    def with_versions(found, keys, versions, unsettled)
      keys.each_with_index do |key, index|
        bytes = found[key] or next
        value = found[key] = decode(bytes, versions[index]) { token_of(bytes, index) }
        unsettled << key if Coder::Signal === value
      end
      found
    end
  end
end
