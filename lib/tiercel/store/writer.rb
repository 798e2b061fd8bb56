# frozen_string_literal: true

# Turns values into frames with a TTL, and stores them.
#
# @private
class Tiercel::Store::Writer
  # The backend's TTL if the caller's TTL is zero or negative, in seconds. The expiry in the
  # frame makes the entry a miss.
  SHORTEST_TTL = 0.001

  # @param policy [FetchPolicy] the store's default
  # @param race_condition_ttl [Numeric, nil] the store's default, as the next one
  # @param threshold [Integer, nil] size in bytes from which payloads are compressed; nil for never
  def initialize(backend:, accessor:, coder:, reader:, generations:, policy:, race_condition_ttl:, threshold:)
    @backend = backend
    @accessor = accessor
    @coder = coder
    @reader = reader
    @generations = generations
    @policy = policy
    @race_condition_ttl = race_condition_ttl
    @threshold = threshold
  end

  # --- one value ---

  # @param options [Hash] merged
  # @return [Boolean, nil] whether it is written
  def write(key, value, version, options, policy)
    bytes = frame(key, value, version, options, policy, jitter: false) or return
    ttl = fill_ttl(options, policy)
    return @accessor.set(key, bytes, ttl) unless options[:unless_exist]
    @accessor.add(key, options[:raw] ? bytes : exclusive(key, bytes), ttl) { |present| absent?(present, key) }
  end

  # The usual write: all options are the store's own, except for `expires_in:`. The accessor may create the frame
  # itself.
  #
  # @return [Boolean, nil] whether it is written
  def write_plain(key, value, version, expires_in)
    if expires_in
      expires_in = expires_in.to_f
      ttl = ttl(false, expires_in:, race_condition_ttl: @race_condition_ttl)
      ends = end_after(expires_in)
    end
    @accessor.write(key, value, version, ends, ttl, @threshold)
  end

  # --- frames ---

  # @param version [String, nil]
  # @param options [Hash] merged
  # @param jitter [Boolean] whether to shorten the TTL by a random share
  # @return [String, nil] the bytes to store; nil if the generations of the tags are unknown
  def frame(key, value, version, options, policy, jitter: true)
    raw = options[:raw]
    return value.to_s.b.freeze if raw && raw?(value)
    if (ends = options[:expires_at]&.to_f).nil? && (expires_in = options[:expires_in])
      expires_in = expires_in.to_f
      ends = end_after(jitter ? jittered(expires_in, policy) : expires_in)
    end
    threshold = options[:compress] ? options[:compress_threshold] : nil
    bytes = @coder.dump_value(value, ends, version, !threshold.nil?, threshold || 0, key)
    return bytes.freeze if raw
    tagged(key, with_stale_windows(key, bytes, policy), options[:tags])&.freeze
  end

  # Adds the tags that a block has inherited.
  #
  # @param recorded [Hash{String => String}]
  # @return [String] the frame with these tags
  def with_recorded_tags(key, bytes, recorded) = @coder.with_parts(bytes, key, tags: recorded).freeze

  # @param entry [ActiveSupport::Cache::Entry]
  # @param threshold [Integer] size in bytes from which the payload is compressed
  # @return [String] the entry's frame; it keeps the tags that the entry had when it was read
  def frame_of_entry(key, entry, compress, threshold)
    bytes = @coder.dump(entry, key, threshold: compress ? threshold : nil)
    recorded = @reader.recorded_tags(entry)
    recorded ? @coder.with_parts(bytes, key, tags: recorded) : bytes
  end

  # @param bytes [String] a frame without tags
  # @param tags [Tags::Named, nil]
  # @return [String, nil] the frame with its tags; nil if their generations are unknown
  def tagged(key, bytes, tags)
    return bytes unless tags
    @coder.with_parts(bytes, key, tags: tags.known) if @generations.fix(tags)
  end

  # @param bytes [String] a frame, or the bytes of a custom coder
  # @return [String] the frame, with the times until which its stale value may be served
  def with_stale_windows(key, bytes, policy)
    return bytes unless policy.stale_seconds && Tiercel::Frame.frame?(bytes) && (ends = Tiercel::Frame.ends_at(bytes))
    windows = [policy.stale_while_revalidate, policy.stale_if_error].map { |seconds| ends + (seconds || 0) }
    @coder.with_parts(bytes, key, stale: windows)
  end

  # Marks the frame, so that a delayed delete does not remove the entry ({Backend#delete_frames}).
  def exclusive(key, bytes)
    @backend.in_memory? || !Tiercel::Frame.frame?(bytes) ? bytes : @coder.with_parts(bytes, key, exclusive: true)
  end

  # An expired entry counts as absent. The backend may keep its frame beyond the expiry.
  def absent?(bytes, key)
    entry = @reader.entry(bytes, key:)
    entry.nil? || entry.expired?
  end

  # --- times ---

  # An infinite TTL, or one that is no number, means no expiry, as in Rails' own stores.
  #
  # @param seconds [Float]
  # @return [Float, nil] epoch seconds
  def end_after(seconds) = (Tiercel::Clock.now + seconds if seconds.finite?)

  # @return [Float] the seconds, shortened by a random share of at most `jitter:`
  def jittered(seconds, policy) = policy.jitter.zero? ? seconds : seconds * (1 - (rand * policy.jitter))

  # Computes the backend's TTL. The frame (or the custom coder's bytes) contains the expiry of the entry. If stale
  # values may be served, the backend keeps the entry longer. Raw bytes have no frame, so their TTL is exact.
  #
  # @return [Float, nil] seconds
  def ttl(raw, expires_in: nil, race_condition_ttl: nil, policy: @policy, **)
    return unless expires_in
    ttl = [expires_in.to_f, SHORTEST_TTL].max unless expires_in.to_f.nan?
    ttl = framed_ttl(ttl, race_condition_ttl, policy) if ttl && !raw
    ttl if ttl&.finite?
  end

  # @param options [Hash] merged
  # @return [Float, nil] seconds
  def fill_ttl(options, policy)
    expires_in = options[:expires_in] or return
    ttl(options[:raw], expires_in:, race_condition_ttl: options[:race_condition_ttl], policy:)
  end

  private

  # Returns whether a raw write stores the value's own bytes. Any other value gets a frame, as does a String that
  # looks like a frame.
  def raw?(value) = Numeric === value || (String === value && !Tiercel::Frame.frame?(value))

  def framed_ttl(ttl, race_condition_ttl, policy)
    ttl += policy.stale_seconds if policy.stale_seconds
    return ttl + [Tiercel::FetchPolicy::RACE_CONDITION_GRACE, race_condition_ttl.to_f * 2].max if race_condition_ttl
    # A `fetch` with race_condition_ttl: may find an entry that was written without it. memcached counts whole seconds,
    # and may end an entry up to a second early.
    ttl + (@backend.remote? ? 1 : ttl.clamp(5, Tiercel::FetchPolicy::RACE_CONDITION_GRACE))
  end
end
