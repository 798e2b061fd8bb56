# frozen_string_literal: true

module Tiercel
  module Store
    # Reads and creates the generations of tags. A generation is 8 random bytes under its own key in the backend. An
    # invalidation deletes the tag's generation, and the next write with the tag creates a new one.
    #
    # @private
    class Tags::Generations
      # The result of a guarded call if the backend failed.
      LOST = Object.new.freeze
      private_constant :LOST

      # @param accessor [Accessor]
      # @param backend [Backend]
      # @param guard [Guard]
      def initialize(accessor, backend, guard)
        @accessor = accessor
        @backend = backend
        @guard = guard
      end

      # Reads the generations of the tags, so that a value that is computed from now on can be stored with them.
      # Creates a generation for each tag without one.
      #
      # @param tags [Named]
      # @return [Boolean] false if the backend failed
      def fix(tags)
        return false if tags.lost?
        tags.know(@accessor.far_generations(tags.keys)) unless tags.known
        unknown = tags.unknown
        return true if unknown.empty?
        return tags.lose if @guard.timing_out?
        begun = @guard.call(:begin_tags, returning: LOST) { begin_anew(unknown) }
        return tags.lose if LOST.equal?(begun)
        tags.complete(begun)
        true
      end

      # @param recorded [Hash{String => Integer}] the generations in an entry, by key
      # @param tags [Named, nil] tags whose generations were read with the entry
      # @return [Boolean] whether they are current
      def current?(recorded, tags = nil)
        known = tags&.known
        unless known && recorded.each_key.all? { |key| tags.key?(key) }
          found = @accessor.generations(recorded.keys) { |key, bytes| Tags::Named.generation(bytes) == recorded[key] }
          known = found.transform_values { |bytes| Tags::Named.generation(bytes) }
        end
        recorded.all? { |key, generation| known[key] == generation }
      end

      # @param parts [Array<String>] different parts TAGS of entries
      # @param tags [Named, nil] tags whose generations were read in the same trip
      # @return [Array<String>] the parts with a generation that is not current; takes at most one trip
      def outdated_among(parts, tags = nil)
        found = tags&.found
        wanted = {}
        parts.each do |part|
          Frame::Parts.each_tag(part) do |key, generation|
            known = wanted[key]
            wanted[key] = known.nil? || known == generation ? generation : false # false: entries differ
          end
        end
        unknown = found ? wanted.keys.reject { |key| tags.key?(key) } : wanted.keys
        unless unknown.empty?
          # A remembered generation that differs from one in an entry may be outdated, and is read again.
          read = @accessor.generations(unknown) { |key, bytes| wanted[key] == bytes }
          found = found ? found.merge(read) : read
        end
        return [] if wanted.all? { |key, generation| found[key] == generation }
        parts.select do |part|
          Frame::Parts.each_tag(part) { |key, generation| break true unless found[key] == generation }
        end
      end

      # @param keys [Array<String>]
      # @return [true, nil] nil if the backend failed
      def invalidate(keys) = keys.empty? || @accessor.invalidate(keys)

      private

      # Creates generations. If another process creates one concurrently, both processes use that one.
      #
      # @return [Hash{String => Integer}]
      def begin_anew(keys)
        own = keys.to_h { |key| [key, Random.urandom(Tags::Named::GENERATION_BYTES)] }
        found = @backend.occupy_multi(own)
        own.to_h do |key, bytes|
          there = found[key]&.first || bytes
          unless there.bytesize == Tags::Named::GENERATION_BYTES # another program wrote these bytes
            @backend.set(key, bytes)
            there = bytes
          end
          [key, Tags::Named.generation(there)]
        end
      rescue BackendError => error
        raise error.with_partial(nil) # an entry needs all generations
      end
    end
  end
end
