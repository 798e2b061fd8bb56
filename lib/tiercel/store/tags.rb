# frozen_string_literal: true

module Tiercel
  # `tags:` and `invalidate_tags`. A write stores each tag's generation from before the value was computed. A read
  # compares these generations with the backend's.
  #
  #   options: names -> {Named} -> {Generations#fix} before the block -> {Writer#tagged}: the frame's part TAGS
  #   {Reader#outdated?}: compares this part with the backend's generations
  #
  # docs/tags.md lists the guarantees.
  module Store::Tags
    autoload :Generations, "tiercel/store/tags/generations"
    autoload :Named, "tiercel/store/tags/named"

    # The prefix of generations' keys, after the namespace.
    KEY_PREFIX = Frame::Layout::GENERATION_KEY

    # @param tag [Object] an argument of the application
    # @yieldreturn [String] the tag's text as a part of a key
    # @return [String] the tag's name
    # @raise [ArgumentError] for a tag that is no name
    # @private
    def self.name_of(tag)
      if tag.nil? || tag.is_a?(Hash)
        Named.refuse "expected names (String, Symbol, Array, or what answers to cache_key), got #{Redacted.text(tag)}"
      end
      # A saved record is one tag for its whole life; its `cache_key` may contain `updated_at`.
      record = tag.respond_to?(:model_name) && tag.respond_to?(:id) && tag.respond_to?(:persisted?) && tag.id
      name = record ? "#{tag.model_name.cache_key}/#{tag.id}" : yield.to_s
      name.encoding == Encoding::UTF_8 ? name : name.dup.force_encoding(Encoding::UTF_8)
    end
  end
end
