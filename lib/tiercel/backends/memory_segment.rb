# frozen_string_literal: true

module Tiercel
  module Backends
    # `memory:` on private memory: the segment's engine without a file. A forked child gets its own copy.
    class MemorySegment < SegmentBackend
      DEFAULT_SIZE = "32MB"

      # @return [Array<Symbol>] names of the options of {.build}
      def self.option_names = %i[size memo]

      class << self
        include SegmentBackend::Options

        # @param _url [BackendURL]
        # @param options [Hash] `size:` bytes or a String (at least 1 MB), `memo:` bytes ("16MB") for long Strings that
        #   are returned without a copy and therefore use memory twice; by default an eighth of `size` (false: none)
        # @return [MemorySegment]
        # @raise [ConfigurationError] if the memory cannot be allocated
        def build(_url, options)
          options = { size: DEFAULT_SIZE }.merge(options.compact)
          memo_bytes = memo_bytes(options)
          segment = Segment.open(bytes: size_bytes(options))
          segment.memo_bytes = memo_bytes
          new(segment)
        end
      end

      def to_s = "memory:"
    end
  end
end
