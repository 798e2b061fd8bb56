# frozen_string_literal: true

# Reads and writes whole frames for the store, by calling the backend through the guard. Over a segment, {Native} and
# {Frozen} call the segment directly for values, and the guard only for failures. The first half of the methods returns
# values. The second half returns bytes, for calls that need Rails' entries.
#
# == Values
#
# - `read(key, version, event)`: the value, {MISS} if the key is absent, or a {Found}
# - `read_multi(keys, versions, undecided, event)`: a Hash of keys and values, in the order of the keys. If a value
#   would be a {Found}, the Hash contains this {Found}, and the key is added to the Array `undecided`
# - `write(key, value, version, expires_at, ttl, threshold)`: as `Store#write`
#
# A {Found} carries the bytes of an entry that is no value yet: an expired, damaged or mismatched entry, a placeholder,
# bytes without a frame, or an entry with tags that nobody has compared. {Store::Reader} decides about these bytes. The
# Reader needs another trip only to read generations that are not known yet.
#
# == Bytes
#
# `get`, `get_multi`, `set`, `set_multi`, `add`, `delete`, `delete_multi`, `count`, `delete_matching`, `clear`,
# `cleanup` and `stats` call the backend once through the {Guard}, most of them the {Backend} method of the same name.
# `add` may need a second step, `count` runs the caller's steps, and `delete_matching` scans. No method raises a
# {BackendError}. If the backend fails, each method returns the result that docs/failures.md lists.
#
# == Parameters
#
# - `key`: String, normalized; `version`: String, or nil for any version
# - `event`: the payload of the notification, or nil. {RequestLocal} writes the class of Rails' local store into it
#   under :store if it answers itself; tiers write the tiers that answered, under :tier or :tiers
# - `expires_at`: epoch seconds for the frame; `ttl`: seconds for the backend, nil for no expiry
# - `threshold`: size in bytes from which the payload is compressed, nil for never
#
# @private
class Tiercel::Accessor
  autoload :RequestLocal, "tiercel/accessor/request_local"

  MISS = Tiercel::Coder::MISS
  FRAME_HEADER_BYTES = Tiercel::Frame::Layout::HEADER_BYTES
  private_constant :FRAME_HEADER_BYTES

  # The bytes of an entry that a read alone cannot turn into a value.
  class Found < Tiercel::Coder::Signal
    # @return [String] the bytes that were read, frozen
    attr_reader :bytes

    def initialize(bytes)
      super("Found")
      @bytes = bytes
    end
  end

  # @return [Backend]
  attr_reader :backend

  # @param backend [Backend]
  # @param guard [Guard, nil] nil for a subclass that wraps another accessor
  # @param coder [Coder]
  # @param frozen [Boolean] whether values of plain types come back deep-frozen
  def initialize(backend, guard, coder, frozen: false)
    @runtime = Tiercel::Runtime.current
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
    bytes.nil? ? MISS : decode(key, bytes, version)
  end

  # @param tags [Tags::Named] the tags that the call names; the same trip reads their generations
  # @return [Object, Found] as {#read}; a {Found} if only {Store::Reader} can compare the entry's tags
  def read_tagged(key, version, tags, event = nil)
    bytes = get_tagged(key, tags, event)
    bytes.nil? ? MISS : decode(key, bytes, version, tags.recorded_in?(bytes))
  end

  # @param generations [Store::Tags::Generations, nil] guesses the generations of the entries, which are then read in
  #   the same trip. Entries for which the guess was wrong are undecided
  def read_multi(keys, versions, undecided, event = nil, generations = nil)
    guess = generations&.guess(keys)
    return decode_all(get_multi(keys, event), keys, versions, undecided) unless guess
    read = get_multi(keys + guess.keys, event)
    current = guess.current(read)
    found = {}
    keys.each_with_index do |key, index|
      bytes = read[key] or next
      parts = current[index]
      known = parts && bytes.byteindex(parts, FRAME_HEADER_BYTES) == FRAME_HEADER_BYTES
      value = found[key] = decode(key, bytes, versions && versions[index], known)
      undecided << key if Tiercel::Coder::Signal === value
    end
    undecided.uniq!
    found
  end

  # @param tags [Tags::Named] see {#read_tagged}. Entries with tags are undecided
  # @return [Hash{String => Object}] as {#read_multi}
  def read_multi_tagged(keys, versions, tags, undecided, event = nil)
    found = get_multi_tagged(keys, tags, event)
    (tags.keys - keys).each { |key| found.delete(key) }
    decode_all(found, keys, versions, undecided)
  end

  def write(key, value, version, expires_at, ttl, threshold)
    set(key, @coder.dump_value(value, expires_at, version, !threshold.nil?, threshold || 0, key), ttl)
  end

  # --- bytes ---

  def get(key, _event = nil)
    @guard.call(:read_entry, key) { @backend.get(key) }
  end

  # @param keys [Array<String>] without duplicates
  def get_multi(keys, _event = nil)
    @guard.call(:read_multi_entries, returning: {}, keys:) { |rest| @backend.get_multi(rest) }
  end

  # @param tags [Tags::Named] receives the generations of its tags, which are read in the same trip
  # @return [String, nil] as {#get}
  def get_tagged(key, tags, _event = nil)
    tags.know(found = get_multi([key] | tags.keys))
    found[key]
  end

  # @return [Hash{String => String}] as {#get_multi}, with the generations
  def get_multi_tagged(keys, tags, _event = nil)
    get_multi(keys | tags.keys).tap { |found| tags.know(found) }
  end

  # Reads every generation from the backend. {RequestLocal#generations} also has those of this request, and tiers have
  # near copies. Both call the block, which decides whether to use one.
  #
  # @param keys [Array<String>] keys of generations
  # @return [Hash{String => String}]
  def far_generations(keys, &) = @guard.call(:read_tags, returning: {}, keys:) { |rest| @backend.get_multi(rest) }
  alias generations far_generations

  # @param keys [Array<String>] keys of generations
  # @return [true, nil]
  def invalidate(keys)
    @guard.call(:invalidate_tags, keys:) { @backend.delete_multi(keys) && true }
  end

  def set(key, bytes, ttl)
    @guard.call(:write_entry, key) do
      @backend.set(key, bytes, ttl) || @guard.too_large(key, bytes)
    end
  end

  # @return [Boolean] whether all are stored
  def set_multi(frames, ttl)
    @guard.call(:write_multi_entries) do
      @backend.set_multi(frames, ttl) || @guard.too_large(nil, frames)
    end
  end

  # Writes if the key is absent or its entry has expired. A backend may keep the bytes of an expired entry.
  #
  # @yieldparam present [String] the bytes of the existing entry
  # @yieldreturn [Boolean] whether the existing entry has expired
  # @return [Boolean, nil] whether the entry was written
  def add(key, bytes, ttl)
    @guard.call(:write_entry, key) do
      present, token = answer = @backend.add_or_get(key, bytes, ttl)
      next true if answer == true
      next @backend.add(key, bytes, ttl) unless token
      yield(present) ? @backend.compare_and_set(key, bytes, token, ttl) : false
    end
  end

  def delete(key)
    @guard.call(:delete_entry, key, returning: false) { @backend.delete(key) }
  end

  def delete_multi(keys)
    @guard.call(:delete_multi_entries, returning: 0, keys:) { @backend.delete_multi(keys) }
  end

  # Changes a counter. The block does this in one or several steps.
  #
  # @param operation [Symbol] the operation's name, for error reports
  # @yieldparam backend [Backend] stores the counter
  # @yieldreturn [Integer, nil] the new count
  # @return [Integer, nil]
  def count(operation, key)
    @guard.call(operation, key) { yield @backend }
  end

  # @param pattern [KeyPattern]
  # @return [Integer, nil] number of deleted entries
  def delete_matching(pattern) = @guard.call(:delete_matched) { delete_scanned(pattern) }

  def clear(prefix)
    @guard.call(:clear) { @backend.clear(prefix) }
  end

  def cleanup = @guard.call(:cleanup) { @backend.cleanup }

  # @param method [Symbol] the method's name, for error reports
  def stats(method = :stats) = @guard.call(method) { @backend.stats }

  # Reads entries that were written with `raw: true`.
  def get_raw(key, event = nil) = get(key, event)
  def get_multi_raw(keys, event = nil) = get_multi(keys, event)

  # Decodes a frame. A damaged frame becomes a {Found}, so that {Store::Reader} reports it once. This method
  # freezes the bytes, so that the value can share them; that saves an object. No other code reads them.
  #
  # @param bytes [String] the bytes of an entry
  # @param version [String, nil]
  # @param current [Boolean] whether the entry's tags were compared and are current
  # @return [Object, Found]
  def decode(key, bytes, version, current = false)
    bytes.freeze
    value = @coder.load_value(bytes, nil, version, key) unless current
    current ||= Tiercel::Coder::SLOW.equal?(value) && tags_current?(bytes)
    value = @coder.load_value(bytes, nil, version, key, true) if current
    return Found.new(bytes) if Tiercel::Coder::Signal === value
    inherit_tags(bytes) if current && @runtime.blocks > 0 && @runtime.inside_block?
    Tiercel::DeepFreeze.call(value) if @frozen
    value
  rescue Tiercel::MalformedFrame, Tiercel::SerializationError, ActiveSupport::Cache::DeserializationError
    Found.new(bytes)
  end

  private

  # The running block depends on the tags of the entry that it reads.
  def inherit_tags(bytes)
    recorded = Tiercel::Frame.parse(Tiercel::Leases::Placeholder.visible(bytes)).parts.tags
    Tiercel::Fetch.inherit(@backend, recorded) if recorded
  end

  # @return [Boolean] whether the entry has tags that this accessor has found current
  def tags_current?(_bytes) = false

  # Replaces the values in place, which is quicker than a new Hash because Ruby does not hash the keys again.
  def decode_all(found, keys, versions, undecided)
    unsure = false
    versions &&= keys.zip(versions).to_h
    found.each do |key, bytes|
      value = found[key] = decode(key, bytes, versions && versions[key])
      unsure = true if Tiercel::Coder::Signal === value
    end
    undecided.concat(keys.uniq.select { |key| Tiercel::Coder::Signal === found[key] }) if unsure
    found
  end

  def delete_scanned(pattern)
    @backend.end_leases
    @backend.scan(pattern.prefix).lazy.select { |key| pattern.match?(key) }.each_slice(1_000)
            .sum { |keys| @backend.delete_multi(keys) }
  end

  # Reads entries of a {Tiercel::Segment}, which compares their tags. A store with `encrypt:` uses this class, and not
  # {Native}, because the segment's shortcuts for plain Strings and decoded values must not receive encrypted payloads.
  #
  # @private
  class Segment < Tiercel::Accessor
    def initialize(backend, guard, coder, frozen: false)
      super
      @segment = backend.segment
    end

    def compares_tags? = true

    # The store's statistics count these reads. They do not count the backend's own `get_multi`, which also reads
    # generations.
    def get_multi(keys, _event = nil)
      @guard.call(:read_multi_entries, returning: {}, keys:) { @segment.get_multi(keys, true) }
    end

    private

    # The segment compares the generations of all tags in one call.
    def tags_current?(bytes)
      @segment.tags_current?(bytes)
    rescue Tiercel::BackendError
      false # the reader compares the tags through the guard, which reports the failure
    end
  end

  # Reads and writes through a {Tiercel::Segment}. For a plain String the segment itself encodes and decodes the frame,
  # so Ruby creates no String for the frame.
  #
  # A segment has no breaker, so reads and writes call the segment directly. The guard is called only for failures.
  #
  # @private
  class Native < Segment
    def initialize(backend, guard, coder)
      super
      @frames_strings = coder.plain_frames?
    end

    # The segment returns a frozen result if it could not decode the frame: the frame, or an Array of the frame and
    # its token.
    def read(key, version, _event = nil)
      # Inside a block, Ruby has to see the tags, which the block inherits. The segment would not return them.
      return super if @runtime.blocks > 0 && @runtime.inside_block?
      value = @segment.read(key, version)
      return value unless value.frozen?
      value.nil? ? MISS : decoded(key, value, version)
    rescue Tiercel::BackendError => error
      failed(:read_entry, key, error)
      MISS
    end

    def read_multi(keys, versions, undecided, _event = nil, _generations = nil)
      return super if @runtime.blocks > 0 && @runtime.inside_block?
      found = @segment.read_multi(keys, framed = [], versions)
      return found if framed.empty?
      wanted = keys.zip(versions).to_h if versions
      framed.uniq.each do |key|
        read = found[key]
        next unless read.frozen? # `keys` contains this key twice, and the second read returned a String
        value = found[key] = decoded(key, read, wanted && wanted[key])
        undecided << key if Tiercel::Coder::Signal === value
      end
      found
    rescue Tiercel::BackendError => error
      failed(:read_multi_entries, nil, error)
      {}
    end

    def write(key, value, version, expires_at, ttl, threshold)
      if @frames_strings && version.nil? && value.instance_of?(String) &&
         (threshold.nil? || value.bytesize < threshold)
        stored = @segment.write_string(key, value, expires_at, ttl)
      end
    rescue Tiercel::BackendError => error
      failed(:write_entry, key, error)
    else
      return stored || too_large(key, value) unless stored.nil? # nil: Ruby has to encode this String
      set(key, @coder.dump_value(value, expires_at, version, !threshold.nil?, threshold || 0, key), ttl)
    end

    # The segment counts its writes.
    def set(key, bytes, ttl)
      stored = @segment.set(key, bytes, ttl)
    rescue Tiercel::BackendError => error
      failed(:write_entry, key, error)
    else
      stored || too_large(key, bytes)
    end

    private

    # Decodes a frame. If the memo would keep the String, the segment returns the frame with its token.
    def decoded(key, read, version)
      return decode(key, read, version) unless Array === read
      bytes, token = read
      value = decode(key, bytes, version)
      Tiercel::Memo.keep_string(@segment, key, bytes, token, value) if String === value
      value
    end

    def too_large(key, bytes) = @guard.call(:write_entry, key) { @guard.too_large(key, bytes) }

    # Passes the segment's error to the guard.
    def failed(method, key, error) = @guard.call(method, key) { raise error }
  end

  # Reads and writes through a {Tiercel::Segment}, with `frozen: true`: reads return deep-frozen values of plain types.
  # The memo keeps decoded values, and a process decodes such a value only once after each change.
  #
  # @private
  class Frozen < Native
    def initialize(backend, guard, coder)
      super
      Tiercel::Memo.watch(@segment) if Tiercel::Runtime.main?
    end

    # The segment returns an unfrozen result if Ruby has to decode it: the frame, with its token if the memo would keep
    # the value.
    def read(key, version, _event = nil)
      return super if @runtime.blocks > 0 && @runtime.inside_block?
      value = @segment.read_frozen(key, version)
      return decoded(key, value, version) unless value.frozen?
      value.nil? ? MISS : value
    rescue Tiercel::BackendError => error
      failed(:read_entry, key, error)
      MISS
    end

    def read_multi(keys, versions, undecided, _event = nil, _generations = nil)
      keys.each_with_index.with_object({}) do |(key, index), found|
        next if found.key?(key) # `keys` contains this key twice
        value = read(key, versions && versions[index])
        next if MISS.equal?(value)
        undecided << key if Tiercel::Coder::Signal === value
        found[key] = value
      end
    end

    private

    def decoded(key, read, version)
      bytes, token = read
      value = decode(key, bytes, version)
      return value if Tiercel::Coder::Signal === value || !Tiercel::DeepFreeze.call(value)
      Tiercel::Memo.keep_frozen(@segment, key, bytes, token, value) if token
      value
    end
  end
end
