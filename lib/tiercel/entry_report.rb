# frozen_string_literal: true

require_relative "clock"
require_relative "frame"

module Tiercel
  # Locates the entry of one key in every tier and describes its frame. Does not load the value.
  #
  #   Tiercel::EntryReport.new(Rails.cache, "views/1").to_h
  #   # => { key: "views/1", tiers: [{ tier: "shared:...", found: true, bytes: 1042, type: "string_utf_8", ... }] }
  class EntryReport
    # Names of the numeric codes in a frame's header.
    TYPES, COMPRESSORS = %w[TYPE_ COMPRESSOR_].map do |prefix|
      Frame::Layout.constants.grep(/\A#{prefix}/).grep_v(/_AT\z/)
                   .to_h { |name| [Frame::Layout.const_get(name), name.to_s.delete_prefix(prefix).downcase] }.freeze
    end
    private_constant :TYPES, :COMPRESSORS

    # @param store [ActiveSupport::Cache::TiercelStore]
    # @param name [Object] the name, as passed to `read`
    # @param key [String] the key, as stored in the backends
    def initialize(store, name, key: store.stored_key(name))
      @store = store
      @key = key
    end

    # @param store [ActiveSupport::Cache::TiercelStore]
    # @param key [String] the key, as stored in the backends
    # @return [EntryReport]
    def self.of_key(store, key) = new(store, key, key:)

    # @param keys [Array<String>] keys of tags, as {#to_h} returns them
    # @return [Array<String>] the tags, as `invalidate_tags` takes them
    def self.tag_names(keys) = keys.map { |key| key.b.sub(/\A.*?#{Store::Tags::KEY_PREFIX}/no, "") }

    # @return [Hash{Symbol => Object}] :key as stored in the backends, and :tiers, nearest first. Each tier has :tier
    #   (its name) and :found; if the entry was found, also :bytes, :type, :compressor, :ttl_seconds, :age_seconds,
    #   :version, :tags; and :invalidated_tags, if a tag was invalidated since, so that reads miss the entry
    # @raise [BackendError] if a tier fails
    def to_h
      { key: @key, tiers: tiers.map { |tier, bytes| { tier:, found: !bytes.nil?, **(bytes ? described(bytes) : {}) } } }
    end

    private

    def tiers
      backend = @store.backend
      return { backend.to_s => backend.get(@key) } unless backend.tiered?
      { backend.near.to_s => backend.near.get(@key), backend.last.to_s => backend.last.get(@key) }
    end

    def described(bytes)
      return { bytes: bytes.bytesize, type: "raw" } unless Frame.frame?(bytes)
      frame = Frame.parse(bytes)
      { bytes: bytes.bytesize, type: TYPES[frame.type], compressor: COMPRESSORS[frame.compressor],
        ttl_seconds: seconds(frame.expires_at && (frame.expires_at - Clock.now)),
        age_seconds: seconds(frame.parts.created_at && (Clock.now - frame.parts.created_at.first)),
        version: frame.parts.version, tags: frame.parts.tags&.keys,
        invalidated_tags: frame.parts.tags && invalidated(frame.parts.tags) }.compact
    rescue MalformedFrame => error
      { bytes: bytes.bytesize, type: "damaged: #{error.message}" }
    end

    # @param tags [Hash{String => Integer}] the generations in the frame, by the tags' keys
    # @return [Array<String>, nil] nil if none was invalidated
    def invalidated(tags)
      current = @store.backend.tiers.last.get_multi(tags.keys)
      keys = tags.keys.reject { |key| Store::Tags::Named.generation(current[key]) == tags[key] }
      keys unless keys.empty?
    end

    def seconds(number) = number&.round(3)
  end
end
