# frozen_string_literal: true

require_relative "../coder"
require_relative "../frame"
require_relative "tags/generations"
require_relative "tags/named"
require_relative "tags/write_options"

module Tiercel
  module Store
    # `tags:` and {#invalidate_tags}. A write stores each tag's generation from before the value was computed. A read
    # compares these generations with the backend's.
    #
    #   merged_options: names -> {Named} -> {Generations#fix} before the block -> {#tagged}: the frame's part TAGS
    #   deserialize_entry -> {#outdated?}: are they still what the backend has?
    #
    # docs/tags.md lists the guarantees.
    module Tags
      # The prefix of generations' keys, behind the namespace.
      KEY_PREFIX = "tiercel:tag:"

      # Makes every entry with one of these tags a miss, for all processes that use the backend. A read that begins
      # after this method has returned never returns a value that was computed before this call. It takes one trip for
      # any number of entries.
      #
      # @param tags [Array<Object>] names: Strings, Symbols, Arrays, or objects with `cache_key` or `to_param`. An Array
      #   is one name, as in `read`; use `invalidate_tags(*list)` for a list of tags
      # @param namespace [String, Proc, nil] replaces the store's own namespace
      # @return [true, nil] nil if the backend failed: the entries may then still be valid
      # @raise [ArgumentError] if a tag is not a name, is empty, or is longer than {Named::MAX_BYTES} bytes
      def invalidate_tags(*tags, **namespace)
        options = merged_options(namespace)
        names = tags.map { |tag| tag_name(tag) }.uniq
        names.each { |name| Named.check([name]) }
        instrument(:invalidate_tags, nil, { tags: names, count: names.size }) do
          @settings.generations.invalidate(tag_keys(names, options[:namespace]))
        end
      end

      # Tags that the block of a `fetch` sets: reads their generations now, except those already known.
      #
      # @private
      # @param options [Hash] options of the write; this method changes them
      def retag(options, tags)
        before = options[:tags]
        named = tags && named_tags(tags, options)
        fix_tags(named)
        options[:tags] = named&.keep(before)
      end

      private

      # Rails' public methods call this first. From here on the tags are a {Named}.
      def merged_options(call_options)
        merged = super
        tags = merged[:tags]
        return merged if tags.nil? || Named === tags
        merged.merge(tags: named_tags(tags, merged))
      end

      # @return [Named, nil]
      def named_tags(tags, options)
        names = Named.check((tags.is_a?(Array) ? tags : [tags]).map { |tag| tag_name(tag) })
        return if names.empty?
        Named.refuse "raw values and counters take none: they are kept without a frame" if options[:raw]
        unless @coder.is_a?(Coder) || RailsHooks::PASS_THROUGH.equal?(@coder)
          Named.refuse "what the store's coder: writes has no place for them; leave out coder:, or tags:"
        end
        Named.new(names, tag_keys(names, options[:namespace]))
      end

      def tag_name(tag)
        if tag.nil? || tag.is_a?(Hash)
          Named.refuse "expected names (String, Symbol, Array, or what answers to cache_key), got #{Redacted.text(tag)}"
        end
        Named.text(record?(tag) ? "#{tag.model_name.cache_key}/#{tag.id}" : expanded_key(tag))
      end

      # A saved record is one tag for its whole life; its `cache_key` may contain `updated_at`.
      def record?(tag) = tag.respond_to?(:model_name) && tag.respond_to?(:id) && tag.respond_to?(:persisted?) && tag.id

      def tag_keys(names, namespace)
        names.map { |name| normalize_key("#{KEY_PREFIX}#{name}", namespace: namespace) }
      end

      # @param tags [Named, nil]
      # @return [Boolean] whether a value that is computed from now on can be stored with the tags
      def fix_tags(tags) = tags.nil? || @settings.generations.fix(tags)

      # Rails' own `fetch` calls this on a miss, also with `force` and without leases.
      def save_block_result_to_cache(name, key, options)
        fix_tags(options[:tags])
        super { |asked, write_options| yield asked, with_tags(write_options) }
      end

      # @return [WriteOptions] the argument for the block
      def write_options(options) = WriteOptions.new(options, self)

      def with_tags(given)
        return given if WriteOptions === given || !given.instance_variable_defined?(:@options)
        write_options(given.instance_variable_get(:@options))
      end

      def change_counter(operation, name, amount, options, keywords)
        if keywords[:tags] || (options && options[:tags])
          Named.refuse "raw values and counters take none: they are kept without a frame"
        end
        super
      end

    end
  end
end
