# frozen_string_literal: true

module Tiercel
  module Store
    # The tags of one call, and the generations that the call has read. The store creates this object when it merges
    # the call's options, and passes it on instead of the tags' names.
    #
    # @private
    class Tags::Named
      # Maximum number of tags of one entry.
      MAX_COUNT = 100
      # Maximum length of a tag in bytes.
      MAX_BYTES = 250
      # Bytes that a tag takes in a frame in addition to its key.
      FIXED_BYTES = 10
      private_constant :FIXED_BYTES

      # Bytes of a generation.
      GENERATION_BYTES = Frame::Layout::GENERATION_BYTES

      # @return [Array<String>] the tags, as the caller wrote them
      attr_reader :names
      # @return [Array<String>] the keys under which the backend stores the generations
      attr_reader :keys
      class << self
        # @param names [Array<String>]
        # @return [Array<String>] the names without duplicates
        # @raise [ArgumentError]
        def check(names)
          names = names.uniq
          refuse "#{names.size} tags, expected at most #{MAX_COUNT} of an entry" if names.size > MAX_COUNT
          names.each do |name|
            refuse "an empty tag, expected a name of 1 to #{MAX_BYTES} bytes" if name.empty?
            next if name.bytesize <= MAX_BYTES
            refuse "#{name.byteslice(0, 40).scrub.inspect}... is a tag of #{name.bytesize} bytes, " \
                   "expected at most #{MAX_BYTES}"
          end
        end

        # @raise [ArgumentError]
        def refuse(what) = raise(ArgumentError, "tags: #{what}")
      end

      # @param names [Array<String>]
      # @param keys [Array<String>] the keys of the same tags
      # @raise [ArgumentError] if the tags are too large for a frame
      def initialize(names, keys)
        @names = names.freeze
        @keys = keys.freeze
        @known = nil
        @lost = false
        bytes = keys.sum { |key| key.bytesize + FIXED_BYTES }
        return if bytes <= Frame::Layout::MAX_TAGS_BYTES
        Tags::Named.refuse "#{names.size} tags take #{bytes} bytes with their namespace, expected at most " \
                           "#{Frame::Layout::MAX_TAGS_BYTES}: use fewer or shorter ones"
      end

      # @return [Hash{String => String}, nil] the generations that were read, by key, in the order of the keys; nil
      #   before the first read
      attr_reader :known

      # @param found [Hash{String => String}] the backend's bytes by key; may contain other entries too
      # @return [void]
      def know(found)
        @known ||= @keys.each_with_object({}) do |key, known|
          bytes = found[key]
          known[key] = bytes if bytes && bytes.bytesize == GENERATION_BYTES
        end
      end

      # @param begun [Hash{String => String}] generations of the other tags
      # @return [void]
      def complete(begun)
        @known = @keys.to_h { |key| [key, @known[key] || begun[key]] }.compact
      end

      # Returns whether a frame has recorded these tags and their current generations. Compares bytes, which costs
      # less than decoding the frame's parts. A frame with other tags, or in another order, has to be decoded.
      #
      # @param frame [String] its bytes, not verified yet
      # @param generations [Hash{String => String}] the current generations by key
      # @return [Boolean]
      def recorded_in?(frame, generations = @known)
        expected = String.new
        @keys.each do |key|
          generation = generations[key]
          return false unless generation && generation.bytesize == GENERATION_BYTES
          expected << (key.bytesize & 0xFF) << (key.bytesize >> 8) << (key.ascii_only? ? key : key.b) << generation
        end
        Frame.part(frame, Frame::Layout::PART_TAGS) == expected
      end

      # @param earlier [Named, nil] tags with known generations, which this object takes over
      # @return [self]
      def keep(earlier)
        @known = @known.merge(earlier.known.slice(*@keys)) if earlier&.known
        @lost ||= earlier.lost? if earlier
        self
      end

      # No entry can be written with these tags any more: a generation that is read from now on may be newer than the
      # value.
      #
      # @return [false]
      def lose
        @lost = true
        false
      end

      # @return [Boolean]
      def lost? = @lost

      # @return [Named] the same tags without known generations
      def anew = Tags::Named.new(@names, @keys)

      # @return [Array<String>]
      def to_a = @names

      # @return [String]
      def inspect = @names.inspect
    end
  end
end
