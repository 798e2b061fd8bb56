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
      #   a copy, true for 16 MB, false for none, by default a share of an eighth of the segment; `on_unavailable:`
      #   :miss, or :raise to raise an error if the segment cannot be created now
      # @return [Shared]
      # @raise [ConfigurationError] if the segment can never be created or attached to
      # @raise [Unavailable] with `on_unavailable: :raise`, if it cannot be created now
      def build(url, options)
        place = Segment::Place.new(url.place, behind: options[:behind])
        asked, memo, unavailable = Options.values(:shared, options).values_at(:size, :memo, :on_unavailable)
        opening = Segment::Opening.new(place, bytes: asked, memo_bytes: memo)
        return of_an_asset_build(place) if place.in_rails? && AssetBuild.running?
        segment = open(opening, unavailable == :raise, near: options.key?(:behind))
        Segment::OtherUsers.new(place).warn
        return new(segment) if segment.is_a?(Segment::Absent)
        remove_unused(place, segment)
        report_other_size(segment, asked) if asked
        new(segment).tap { |backend| backend.asked_bytes = asked }
      end

      private

      def open(opening, raises, near:)
        opening.call
      rescue Unavailable => error
        raise if raises
        meanwhile = near ? "every read goes to the next tier" : "every call is a miss"
        Segment::Notice.warn("#{error.message}. Until then #{meanwhile}; the creation is retried")
        Segment::Absent.new(opening, error)
      end

      # During an asset build, `memory:` replaces the segment. The dummy secret would name a segment that no other
      # process finds, and the volume of a path is not mounted.
      def of_an_asset_build(place)
        Segment::Notice.info("SECRET_KEY_BASE_DUMMY is set: memory: replaces #{place} during this build")
        Backends::REGISTRY.fetch(:memory).build(BackendURL.parse("memory:"), {})
      end

      # Segments of other layout versions are left for the releases that use them.
      def remove_unused(place, segment)
        orphans = Segment::Orphans.new(place)
        orphans.mark(segment.path)
        orphans.remove.each { |path| Segment::Notice.info("removed #{path}, which was not used for 30 days") }
        place.other_layouts.each do |path|
          Segment.remove(path, only_unused: true)
        rescue Unavailable
          next # a segment of another version or of another user
        end
      end

      def report_other_size(segment, asked)
        return if (segment.size_bytes - asked).abs <= asked / 100
        Segment::Notice.warn("#{segment.path} has #{Sizes.human(segment.size_bytes)}, not the " \
                             "#{Sizes.human(asked)} of `size`: a segment keeps the size that it was created with. " \
                             "To resize it, which empties it: #{resize_command(segment.path, asked)}")
      end

      def resize_command(path, bytes)
        application = Rails.application if defined?(Rails.application)
        return "bin/rails \"tiercel:segments:resize[#{path},#{bytes}]\"" if application
        "bundle exec ruby -rtiercel/segment -e 'Tiercel::Segment.replace(#{path.inspect}, bytes: #{bytes})'"
      end
    end

    # @private
    # @return [Integer, nil] the `size` of the configuration; the segment may have another one
    attr_accessor :asked_bytes

    def to_s = "shared:#{@segment.path}"
  end
end
