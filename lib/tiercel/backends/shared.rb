# frozen_string_literal: true

module Tiercel
  # `shared:NAME`, `shared:/path`, and in a Rails application also `shared:`: one cache in memory for all processes
  # of this machine or container.
  #
  #   Tiercel.new("shared:my_app", size: "256MB")
  #
  # docs/shared.md lists its guarantees and the location of its file.
  class Backends::Shared < Backends::SegmentBackend
    # @return [Array<Symbol>] names of the options of {.build}
    def self.option_names = Options.of(:shared)

    class << self
      # @param url [BackendURL] "shared:NAME", "shared:/path", "shared:"
      # @param options [Hash] `size:` of a new segment, bytes or a String ("256MB"; at least 1 MB), by default
      #   {Segment::Place#default_bytes}; `memo:` bytes ("16MB") for long Strings that this process returns without
      #   a copy, true for 16 MB, false for none, by default a share of an eighth of the segment
      # @return [Shared]
      # @raise [ConfigurationError] if the segment can never be created or attached to
      def build(url, options)
        place = Segment::Place.new(url.place, behind: options[:behind])
        asked, memo = Options.values(:shared, options).values_at(:size, :memo)
        open = -> { place.open(asked, memo_bytes: memo) }
        new(open.call).tap { |backend| backend.asked_bytes = asked }
      rescue Unavailable => error
        meanwhile = options.key?(:behind) ? "every read goes to the next tier" : "every call is a miss"
        Reports.notice("#{error.message}. Until then #{meanwhile}; the creation is retried")
        new(Segment::Absent.new(place, error, &open))
      end
    end

    # @private
    # @return [Integer, nil] the `size` of the configuration; the segment may have another one
    attr_accessor :asked_bytes

    def to_s = "shared:#{@segment.path}"
  end
end
