# frozen_string_literal: true

require_relative "../deep_freeze"
require_relative "../leases/placeholder"
require_relative "../reports"
require_relative "serialized_frame"

module Tiercel
  module Store
    # Turns bytes that were read into entries, compares their tags with the current generations, and updates the
    # request-local cache.
    #
    # @private
    class Reader
      # @param settings [Settings]
      def initialize(settings)
        @settings = settings
      end

      # @param payload [String, SerializedFrame, ActiveSupport::Cache::Entry, nil] the result of the read
      # @param coder [#load]
      # @param raw [Boolean] whether the entry was written with `raw: true`
      # @param tags [Tags::Named, nil] tags whose generations were read in the same trip
      # @param report [Boolean] whether to report damaged bytes
      # @param compare [Boolean] whether to compare the entry's tags; false if the caller compares them
      # @return [ActiveSupport::Cache::Entry, nil] the entry, even if it has expired
      def entry(payload, coder: @settings.coder, key: nil, raw: false, tags: nil, report: true, compare: true)
        return if payload.nil?
        payload = payload.bytes if payload.is_a?(SerializedFrame)
        payload = Leases::Placeholder.visible(payload) or return if payload.is_a?(String)
        return ActiveSupport::Cache::Entry.new(raw_value(payload)) if raw
        entry = coder.load(payload)
        return entry if entry.nil? || entry.expired?
        if compare
          return if outdated?(entry, tags)
          inherit_tags(entry) if Fetch.inside?
        end
        value = entry.value
        DeepFreeze.call(value) if @settings.frozen_values
        entry
      rescue MalformedFrame, SerializationError, ActiveSupport::Cache::DeserializationError => error
        report_undecodable(error, key) if report
        nil
      end

      # Reports a frame that cannot be decoded; the read is a miss. Possible causes: another program writes these keys,
      # a class is missing, or bytes were lost.
      def report_undecodable(error, key) = Reports.handled(error, backend: @settings.backend.to_s, key:)

      # @param entry [ActiveSupport::Cache::Entry]
      # @return [Hash{String => Integer}, nil] the generations of its tags when it was written
      def recorded_tags(entry) = (entry.frame.parts.tags if Coder::LazyEntry === entry)

      # @param entry [ActiveSupport::Cache::Entry]
      # @param tags [Tags::Named, nil] tags whose generations were read in the same trip
      # @return [Boolean] whether one of the entry's tags was invalidated after the write
      def outdated?(entry, tags = nil)
        recorded = recorded_tags(entry)
        !recorded.nil? && !@settings.generations.current?(recorded, tags)
      end

      # @param entries [Hash{Object => ActiveSupport::Cache::Entry}]
      # @param tags [Tags::Named, nil] tags whose generations were read in the same trip
      # @return [Array<Object>] keys of the entries with an invalidated tag; takes at most one trip
      def outdated_among(entries, tags = nil)
        recorded = entries.filter_map { |key, entry| (all = recorded_tags(entry)) && [key, all] }.to_h
        return [] if recorded.empty?
        current = @settings.generations.all_current(recorded.values, tags)
        outdated = recorded.keys.zip(current).filter_map { |key, good| key unless good }
        (entries.keys - outdated).each { |key| inherit_tags(entries[key]) } if Fetch.inside?
        outdated
      end

      # The block that runs depends on the tags of the entry that it reads.
      def inherit_tags(entry)
        recorded = recorded_tags(entry)
        Fetch.inherit(@settings.backend, recorded) if recorded
      end

      # @param value [Object]
      # @return [String, nil] a frame of the store's own coder, for the callers that wait in this process
      def copy(value)
        @settings.coder.dump_value(value, nil, nil, false, 0)
      rescue StandardError, SystemStackError
        nil
      end

      # @param frame [String] see {#copy}
      # @return [Object]
      def value_of_copy(frame)
        value = @settings.coder.load(frame).value
        DeepFreeze.call(value) if @settings.frozen_values
        value
      end

      # Updates the request-local cache with the bytes that the backend has now.
      #
      # @param bytes [String, nil]
      # @return [void]
      def remember(key, bytes)
        local = @settings.request_local&.current or return
        bytes ? local.write_entry(key, bytes) : local.delete_entry(key)
      end

      private

      def raw_value(bytes)
        text = bytes.dup.force_encoding(Encoding::UTF_8)
        text.valid_encoding? ? text : text.force_encoding(Encoding::BINARY)
      end
    end
  end
end
