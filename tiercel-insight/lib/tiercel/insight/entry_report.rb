# frozen_string_literal: true

# Finds the entry of one key. For a Tiercel store it reports every tier, with a description of the frame. For another
# store it reports only whether the entry exists. Never loads the value.
#
#   Tiercel::Insight::EntryReport.new(Rails.cache, "views/1").to_h
#   # => { key: "views/1", tiers: [{ tier: "shared:...", found: true, bytes: 1042, type: "string_utf_8", ... }] }
class Tiercel::Insight::EntryReport
  # @param store [ActiveSupport::Cache::Store]
  # @param name [Object] the name, as passed to `read`
  def initialize(store, name)
    @store = store
    @name = name
  end

  # Reads with tokens, because a segment does not count such reads.
  #
  # @return [Hash{Symbol => Object}] :key, and :tiers, nearest first. Each tier has :tier (its name) and :found. An
  #   entry of Tiercel also has :bytes, :type, :compressor, :ttl_seconds, :version and :tags, and :invalidated_tags if
  #   an invalidated tag makes it a miss
  # @raise [StandardError] if a tier fails
  def to_h
    return { key: @name, tiers: [{ tier: @store.class.name, found: @store.exist?(@name) }] } unless tiercel?
    key = @store.stored_key(@name)
    backend = @store.backend
    places = backend.tiered? ? [backend.near, backend.last] : [backend]
    tiers = places.to_h { |place| [place.to_s, place] }
    { key:, tiers: tiers.map { |tier, place| { tier:, **described(place.get_with_token(key)&.first) } } }
  end

  private

  def tiercel? = @store.respond_to?(:stored_key) && @store.respond_to?(:backend)

  def described(bytes)
    return { found: false } if bytes.nil?
    return { found: true, bytes: bytes.bytesize, type: "raw" } unless Tiercel::Frame.frame?(bytes)
    frame = Tiercel::Frame.parse(bytes)
    parts = frame.parts
    { found: true, bytes: bytes.bytesize, type: named("TYPE_", frame.type),
      compressor: named("COMPRESSOR_", frame.compressor),
      ttl_seconds: frame.expires_at && (frame.expires_at - Tiercel::Clock.now).round(3), version: parts.version,
      tags: parts.tags && tag_names(parts.tags.keys),
      invalidated_tags: parts.tags && invalidated(parts.tags) }.compact
  rescue Tiercel::MalformedFrame => error
    { found: true, bytes: bytes.bytesize, type: "damaged: #{error.message}" }
  end

  # The names of the numeric codes in a frame's header.
  def named(prefix, code)
    layout = Tiercel::Frame::Layout
    names = layout.constants.grep(/\A#{prefix}/).grep_v(/_AT\z/)
    names.find { |name| layout.const_get(name) == code }.to_s.delete_prefix(prefix).downcase
  end

  # @param tags [Hash{String => Integer}] the generations in the frame, by the tags' keys
  # @return [Array<String>, nil] nil if none was invalidated
  def invalidated(tags)
    current = @store.backend.tiers.last.get_multi_with_tokens(tags.keys)
    tag_names(tags.keys.reject { |key| current[key]&.first == tags[key] }).presence
  end

  # Tags as `invalidate_tags` takes them.
  def tag_names(keys) = keys.map { |key| key.b.sub(/\A.*?#{Tiercel::Store::Tags::KEY_PREFIX}/no, "") }
end
