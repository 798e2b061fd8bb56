# frozen_string_literal: true

module Tiercel
  # Reads values: bytes from the {Accessor}, then expiry, version and tags, then the value.
  #
  # A read returns the value, {Accessor::MISS}, or an {Accessor::Found}: an entry that exists and cannot be used
  # (expired, of another version, damaged, a lease's placeholder). `fetch` passes a Found on to {Fetch}, which needs
  # its bytes; for every other call it is a miss.
  #
  # @private
  class Store::Reader
    MISS = Accessor::MISS
    # Maximum number of attempts of {#take_away}. An attempt fails if another caller has changed the value.
    MAX_ATTEMPTS = 10
    # Errors of a payload that cannot be decoded. {Coder::PayloadReader} turns every other error into one of these,
    # for example an error of a class that loads a missing file.
    UNREADABLE = [MalformedFrame, SerializationError, ActiveSupport::Cache::DeserializationError].freeze
    private_constant :MAX_ATTEMPTS, :UNREADABLE

    # @param generations [Tags::Generations]
    # @param frozen_values [Boolean] whether values of plain types are deep-frozen
    def initialize(backend:, guard:, accessor:, coder:, generations:, frozen_values:)
      @runtime = Runtime.current
      @backend = backend
      @guard = guard
      @accessor = accessor
      @coder = coder
      @generations = generations
      @guesses = (generations unless accessor.compares_tags?)
      @frozen_values = frozen_values
      @undecryptable = ReportLimit.new(pause_seconds: 60.0)
    end

    # @param options [Hash] merged; `raw:`, `tags:` and `delete:` count here
    # @param event [Hash, nil] the payload of the call's event
    # @return [Object, Accessor::Found]
    def read(key, version, options, event = nil)
      return taken_away(key, version, options) if options[:delete]
      tags = options[:tags]
      if options[:raw]
        bytes = @accessor.get_raw(key, event)
        return MISS if bytes.nil?
        return decide(Accessor::Found.new(bytes), key, version, raw: true)
      end
      tags = nil if @accessor.compares_tags?
      value = tags ? @accessor.read_tagged(key, version, tags, event) : @accessor.read(key, version, event)
      Accessor::Found === value ? decide(value, key, version, tags:) : value
    end

    # Handles bytes that the accessor could not turn into a value.
    #
    # @param found [Accessor::Found]
    # @param tags [Tags::Named, nil] tags whose generations were read in the same trip
    # @return [Object, Accessor::Found]
    def decide(found, key, version, raw: false, tags: nil)
      entry = entry(found.bytes, key:, raw:, tags:)
      return unusable(found) if entry.nil? || entry.expired? || entry.mismatched?(version)
      inherit_tags(entry)
      entry.value
    end

    # Reads several keys in one trip, and in another one if entries have tags that the accessor does not compare, and
    # that this process has not met under these keys before.
    #
    # @param keys [Array<String>] one for each name; names that share a key get the same value
    # @param versions [Array<String, nil>, nil]
    # @param options [Hash] merged; `raw:` and `tags:` count here
    # @param useless [Hash{String => Accessor::Found}] receives the entries that cannot be used
    # @return [Hash{String => Object}] values by key
    def read_multi(keys, versions, options, event = nil, useless = {})
      tags = options[:tags]
      undecided = []
      if options[:raw]
        found = tags ? @accessor.get_multi_tagged(keys, tags, event) : @accessor.get_multi_raw(keys, event)
        found = found.slice(*keys).to_h { |key, bytes| [key, Accessor::Found.new(bytes)] }
        undecided.concat(found.keys)
      elsif tags && !@accessor.compares_tags?
        found = @accessor.read_multi_tagged(keys, versions, tags, undecided, event)
      else
        found = @accessor.read_multi(keys, versions, undecided, event, @guesses)
      end
      decide_all(found, undecided, versions && keys.zip(versions).to_h, options, useless) unless undecided.empty?
      found
    end

    # @param payload [String, ActiveSupport::Cache::Entry, nil] the result of a read
    # @param coder [#load]
    # @param raw [Boolean] whether the caller expects raw bytes; a frame is recognized all the same
    # @param tags [Tags::Named, nil] tags whose generations were read in the same trip
    # @param report [Boolean] whether to report damaged bytes
    # @param compare [Boolean] whether to compare the entry's tags; false if the caller compares them
    # @return [ActiveSupport::Cache::Entry, nil] the entry, even if it has expired
    def entry(payload, coder: @coder, key: nil, raw: false, tags: nil, report: true, compare: true)
      return if payload.nil?
      payload = Leases::Placeholder.visible(payload) or return if payload.is_a?(String)
      return ActiveSupport::Cache::Entry.new(raw_value(payload)) if raw && !Frame.frame?(payload)
      entry = coder.is_a?(Coder) ? coder.load(payload, key) : coder.load(payload)
      return entry if entry.nil? || entry.expired?
      return if compare && outdated?(entry, tags)
      value = entry.value
      DeepFreeze.call(value) if @frozen_values
      entry
    rescue *UNREADABLE => error
      report_undecodable(error, key) if report
      nil
    end

    # Reports a frame that cannot be decoded; the read is a miss. Possible causes: another program writes these keys,
    # a class is missing, or bytes were lost.
    # If the encryption has changed, no old entry can be decrypted; one line a minute reports this.
    def report_undecodable(error, key)
      encryption = error.is_a?(Undecryptable) || error.cause.is_a?(Undecryptable)
      unreported = encryption ? @undecryptable.admit(:undecryptable) : 0
      Reports.handled(error, backend: @backend.to_s, key:, unreported:) if unreported
    end

    # --- tags ---

    # @param entry [ActiveSupport::Cache::Entry]
    # @return [Hash{String => String}, nil] the generations of its tags when it was written
    def recorded_tags(entry) = (entry.frame.parts.tags if Coder::LazyEntry === entry)

    # Adds the tags of an entry to the block that is running, because its value depends on the entry.
    #
    # @return [void]
    def inherit_tags(entry)
      recorded = recorded_tags(entry) if @runtime.blocks > 0
      Fetch.inherit(@backend, recorded) if recorded
    end

    # @param tags [Tags::Named, nil] tags whose generations were read in the same trip
    # @return [Boolean] whether one of the entry's tags was invalidated after the write
    def outdated?(entry, tags = nil)
      recorded = recorded_tags(entry)
      !recorded.nil? && !@generations.current?(recorded, tags)
    end

    # --- copies ---

    # @return [String, nil] a frame of the store's own coder, for the callers that wait in this process
    def copy(value)
      @coder.dump_copy(value)
    rescue StandardError, SystemStackError
      nil
    end

    # @param frame [String] see {#copy}
    # @return [Object]
    def value_of_copy(frame)
      value = @coder.load_copy(frame)
      DeepFreeze.call(value) if @frozen_values
      value
    end

    # `read(name, delete: true)`: reads the bytes and deletes the entry in one step, so that only one of several
    # callers receives it. Only Redis has a command for this. On all backends, each caller instead tries to replace
    # the unchanged entry by an expired frame. The caller that succeeds deletes the frame.
    #
    # @return [String, nil]
    def take_away(key)
      bytes = @guard.call(:read_entry, key) { replace_with_expired(key) }
      @accessor.delete(key) if bytes
      bytes
    end

    private

    # Compares equal sets of tags once, and decodes the values without creating an Entry for each.
    def decide_all(found, undecided, versions, options, useless)
      parts = undecided.map { |key| Frame.part(found[key].bytes, Frame::Layout::PART_TAGS) }
      current = @generations.current_among(parts.compact, options[:tags]) if parts.any?
      undecided.each_with_index do |key, index|
        part = parts[index]
        recorded = current[part] if part
        next useless[key] = unusable(found.delete(key)) if part && recorded.nil?
        version = versions && versions[key]
        value = part ? @accessor.decode(key, found[key].bytes, version, true) : found[key]
        @guesses&.remember(key, found[key].bytes, recorded) if part
        value = decide(found[key], key, version, raw: options[:raw], tags: options[:tags]) if Coder::Signal === value
        Coder::Signal === value ? useless[key] = found.delete(key) : found[key] = value
      end
    end

    # The backend counted this read as a hit, so the counts are corrected.
    def unusable(found)
      @runtime.observer&.recount(@backend, -1, 1)
      found
    end

    def taken_away(key, version, options)
      bytes = take_away(key)
      @runtime.observer&.recount(@backend, bytes ? 1 : 0, bytes ? 0 : 1) # the backend counts neither
      return MISS if bytes.nil?
      decide(Accessor::Found.new(bytes), key, version, raw: options[:raw])
    end

    def replace_with_expired(key)
      MAX_ATTEMPTS.times do
        bytes, token = @backend.get_with_token(key)
        return if bytes.nil? || Leases::Placeholder.placeholder?(bytes)
        return bytes if @backend.compare_and_set(key, Frame::EXPIRED, token, Backend::EXPIRED_TTL)
      end
      nil
    end

    def raw_value(bytes)
      text = String.new(bytes, encoding: Encoding::UTF_8) # no dup, which would copy a backend's variables
      text.valid_encoding? ? text : text.force_encoding(Encoding::BINARY)
    end
  end
end
