# frozen_string_literal: true

module Tiercel
  module Store
    # Reads and creates the generations of tags. A generation is 8 random bytes under its own key in the backend. An
    # invalidation deletes the tag's generation, and the next write with the tag creates a new one.
    #
    # @private
    class Tags::Generations
      # Bounds of the memory of {#remember}: entries, and bytes of one entry's parts.
      MOST_REMEMBERED = 4_096
      LONGEST_PARTS_BYTES = 512
      private_constant :MOST_REMEMBERED, :LONGEST_PARTS_BYTES

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
        unknown = tags.keys - tags.known.keys
        return true if unknown.empty?
        unless @guard.timing_out?
          begun = @guard.call(:begin_tags, keys: unknown) do |keys|
            begin_anew(keys) if keys.equal?(unknown) # an entry needs all generations
          end
        end
        return tags.lose if begun.nil?
        tags.complete(begun)
        true
      end

      # @param recorded [Hash{String => String}] the generations in an entry, by key
      # @param tags [Named, nil] tags whose generations were read with the entry
      # @return [Boolean] whether they are current
      def current?(recorded, tags = nil)
        known = tags.known if tags && (recorded.keys - tags.keys).empty?
        recorded <= (known || @accessor.generations(recorded.keys) { |key, bytes| bytes == recorded[key] })
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
        wanted = {} # false for a generation in which the entries differ
        recorded.each_value { |own| wanted.update(own) { |_, one, other| one == other && one } }
        found = tags&.known || {}
        unknown = tags&.known ? wanted.keys - tags.keys : wanted.keys
        # A remembered generation that differs from one in an entry may be outdated, and is read again.
        found = found.merge(@accessor.generations(unknown) { |key, bytes| wanted[key] == bytes }) if unknown.any?
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
        # @param remembered [Array<Array(String, Hash), nil>] parts and generations of each entry
        # @param generations [Hash{String => String}] those of all entries by key; false if the entries differ in one
        def initialize(remembered, generations)
          @remembered = remembered
          @generations = generations
        end

        # @return [Array<String>] keys of the generations
        def keys = @generations.keys

        # @param read [Hash{String => String}] the current generations by key, among other entries
        # @return [Array<String, nil>] for each entry its parts, if their generations are current. An entry with other
        #   parts has to be compared tag by tag
        def current(read)
          all = @generations <= read
          @remembered.map { |parts, own| parts if own && (all || own <= read) }
        end
      end

      # @param keys [Array<String>]
      # @return [true, nil] nil if the backend, or one of its servers, failed
      def invalidate(keys)
        return true if keys.empty?
        true if @accessor.invalidate(keys) == true # a ring whose other servers answered returns a count
      end

      private

      # Creates generations. If another process creates one concurrently, both processes use that one.
      #
      # @return [Hash{String => String}]
      def begin_anew(keys)
        own = keys.to_h { |key| [key, Random.urandom(Tags::Named::GENERATION_BYTES)] }
        found = @backend.compare_exchange_multi(own)
        own.to_h do |key, bytes|
          there = found[key]&.first || bytes
          unless there.bytesize == Tags::Named::GENERATION_BYTES # another program wrote these bytes
            @backend.set(key, bytes)
            there = bytes
          end
          [key, there]
        end
      rescue BackendError => error
        raise error.with_partial(nil)
      end
    end
  end
end
