# frozen_string_literal: true

require_relative "../../frame"

module Tiercel
  module Store
    module Tags
      # The tags that one call names, and what it knows of their generations: made where the call's options are merged,
      # and handed on in their place.
      #
      # @private
      class Named
        # Tags of one entry.
        MAX_COUNT = 100
        # Bytes of one tag.
        MAX_BYTES = 250
        # Of one tag in a frame, beside its key.
        FIXED_BYTES = 10
        private_constant :FIXED_BYTES

        # Bytes of a generation.
        GENERATION_BYTES = 8

        # @return [Array<String>] as the caller named them
        attr_reader :names
        # @return [Array<String>] under which the backend has their generations
        attr_reader :keys
        # @return [Hash{String => Integer}, nil] by key, what was current when it was read; nil where nobody has read it
        attr_reader :known

        class << self
          # @param names [Array<String>]
          # @return [Array<String>] the same, each once
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

          # @return [Integer] of a generation as a backend has it; nil for anything else
          def generation(bytes) = (bytes.unpack1("Q<") if bytes && bytes.bytesize == GENERATION_BYTES)

          # @raise [ArgumentError]
          def refuse(what) = raise(ArgumentError, "tags: #{what}")
        end

        # @param names [Array<String>]
        # @param keys [Array<String>] of the same tags
        # @raise [ArgumentError] if a frame has no room for them
        def initialize(names, keys)
          @names = names.freeze
          @keys = keys.freeze
          @known = nil
          @lost = false
          bytes = keys.sum { |key| key.bytesize + FIXED_BYTES }
          return if bytes <= Frame::Layout::MAX_TAGS_BYTES
          Named.refuse "#{names.size} tags take #{bytes} bytes with their namespace, expected at most " \
                       "#{Frame::Layout::MAX_TAGS_BYTES}: use fewer or shorter ones"
        end

        # @param found [Hash{String => String}] generations as the backend has them, and perhaps more
        # @return [self]
        def know(found)
          @known ||= @keys.each_with_object({}) do |key, known|
            generation = Named.generation(found[key])
            known[key] = generation if generation
          end
          self
        end

        # @param earlier [Named, nil] whose generations stay what they were
        # @return [self]
        def keep(earlier)
          @known = @known.merge(earlier.known.slice(*@keys)) if earlier&.known
          @lost ||= earlier.lost? if earlier
          self
        end

        # Nothing can be written with them any more: what comes to be known later may be newer than the value.
        #
        # @return [false]
        def lose
          @lost = true
          false
        end

        # @return [Boolean]
        def lost? = @lost

        # @return [Named] the same tags, of which nothing is known
        def anew = Named.new(@names, @keys)

        # @return [Array<String>] keys of tags that have no generation
        def unknown = @known ? @keys.reject { |key| @known.key?(key) } : @keys

        # @return [Array<String>]
        def to_a = @names

        # @return [String]
        def inspect = @names.inspect
      end
    end
  end
end
