# frozen_string_literal: true

require_relative "segment_backend"

module Tiercel
  module Backends
    # `memory:` on private memory: the segment's engine without a file.
    # A process that forks leaves its child a copy of its own.
    class MemorySegment < SegmentBackend
      DEFAULT_SIZE = "32MB"

      # @return [Array<Symbol>] names of the options that {.build} knows
      def self.option_names = %i[size average_entry_bytes memo]

      class << self
        include SegmentBackend::Options

        # @param _url [BackendURL]
        # @param options [Hash] `size:` bytes or a String (at least 1 MB), `average_entry_bytes:` what the index is made
        #   for, `memo:` bytes ("16MB") of long Strings that are kept to hand them out without a copy, and are in this
        #   process's memory twice then; by default an eighth of `size` (false: none)
        # @return [MemorySegment]
        # @raise [ConfigurationError] if so much memory cannot be had
        def build(_url, options)
          options = { size: DEFAULT_SIZE }.merge(options.compact)
          memo_bytes = memo_bytes(options)
          segment = Segment.open(bytes: size_bytes(options), average_entry_bytes: average_entry_bytes(options))
          segment.memo_bytes = memo_bytes
          new(segment)
        end
      end

      def to_s = "memory:"
    end
  end
end
