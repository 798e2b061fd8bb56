# frozen_string_literal: true

module Tiercel
  # `memory:` on private memory: the segment's engine without a file. A forked child gets its own copy.
  class Backends::MemorySegment < Backends::SegmentBackend
    # @return [Array<Symbol>] names of the options of {.build}
    def self.option_names = Options.of(:memory)

    # @param _url [BackendURL]
    # @param options [Hash] `size:` bytes or a String (at least 1 MB), `memo:` bytes ("16MB") for long Strings that
    #   are returned without a copy and therefore use memory twice; by default an eighth of `size` (false: none)
    # @return [MemorySegment]
    # @raise [ConfigurationError] if the memory cannot be allocated
    def self.build(_url, options)
      size, memo = Options.values(:memory, options).values_at(:size, :memo)
      new(Segment.open(bytes: size).tap { |segment| segment.memo_bytes = memo })
    end

    def to_s = "memory:"
  end
end
