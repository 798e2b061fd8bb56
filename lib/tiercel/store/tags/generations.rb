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
      # Bounds of the memory of {#remember}: entries, and bytes of one entry's parts.
      MOST_REMEMBERED = 4_096
      LONGEST_PARTS_BYTES = 512
      private_constant :LOST, :MOST_REMEMBERED, :LONGEST_PARTS_BYTES

      # @param accessor [Accessor]
      # @param backend [Backend]
      # @param guard [Guard]
      def initialize(accessor, backend, guard)
        @accessor = accessor
        @backend = backend
        @guard = guard
        @remembered = {}
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

      # @param parts [Array<String>] parts TAGS of entries
      # @param tags [Named, nil] tags whose generations were read in the same trip
      # @return [Hash{String => Hash{String => String}}] the parts whose generations are all current, and these
      #   generations by key; takes at most one trip
      def current_among(parts, tags = nil)
        recorded = parts.uniq.to_h do |part|
          own = {}
          Frame::Parts.each_tag(part) { |key, generation| own[key] = generation }
          [part, own]
        end
        wanted = {} # false: entries differ
        recorded.each_value { |own| wanted.update(own) { |_, one, other| one == other && one } }
        found = tags&.found || {}
        unknown = wanted.keys - found.keys
        unless unknown.empty?
          # A remembered generation that differs from one in an entry may be outdated, and is read again.
          read = @accessor.generations(unknown) { |key, bytes| wanted[key] == bytes }
          found = found.empty? ? read : found.merge(read)
        end
        recorded.select { |_, own| own <= found }
      end

      # --- the tags that entries had when this process last read them, so that the next read takes one trip less ---

      # @param frame [String] the bytes of an entry with tags
      # @param recorded [Hash{String => String}] the entry's generations by key
      # @return [void]
      def remember(key, frame, recorded)
        parts = frame.byteslice(Frame::Layout::HEADER_BYTES, frame.unpack1("S<", offset: Frame::Layout::PARTS_BYTES_AT))
        return if parts.bytesize > LONGEST_PARTS_BYTES
        @remembered = {} if @remembered.size >= MOST_REMEMBERED
        @remembered[key] = [parts, recorded]
      end

      # @param keys [Array<String>] keys of entries
      # @return [Guess, nil] nil if none of them is known to have tags
      def guess(keys)
        return if @remembered.empty?
        remembered = @remembered.values_at(*keys)
        generations = {}
        remembered.each { |_, own| generations.update(own) { |_, one, other| one == other && one } if own }
        Guess.new(remembered, generations) unless generations.empty?
      end

      # The parts and generations that entries had when this process last read them.
      class Guess
        # @param remembered [Array<Array(String, Hash), nil>] of each entry
        # @param generations [Hash{String => String}] of all entries; false if they differ
        def initialize(remembered, generations)
          @remembered = remembered
          @generations = generations
        end

        # @return [Array<String>] keys of the generations
        def keys = @generations.keys

        # @param read [Hash{String => String}] the current generations by key, among other entries
        # @return [Array<String, nil>] of each entry its parts, if their generations are current. An entry with other
        #   parts has to be compared tag by tag
        def current(read)
          all = @generations <= read
          @remembered.map { |parts, own| parts if own && (all || own <= read) }
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
        found = @backend.compare_exchange_multi(own)
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
