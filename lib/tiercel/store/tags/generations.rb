# frozen_string_literal: true

require_relative "named"

module Tiercel
  module Store
    module Tags
      # Reads and creates the generations of tags. A generation is 8 random bytes under its own key in the backend. An
      # invalidation deletes the tag's generation, and the next write with the tag creates a new one.
      #
      # @private
      class Generations
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
          return recorded.all? { |key, generation| known[key] == generation } if known && covers?(tags, recorded)
          same?(recorded, found_for([recorded]))
        end

        # @param all [Hash{Object => Hash}] the recorded generations of several entries
        # @param tags [Tags::Named, nil] tags whose generations were read in the same trip
        # @return [Hash{Object => Boolean}] whether each entry is current; takes at most one trip
        def all_current(all, tags = nil)
          covered, rest = all.partition { |_, recorded| tags&.known && covers?(tags, recorded) }
          found = found_for(rest.map(&:last)) unless rest.empty?
          result = covered.to_h { |key, recorded| [key, current?(recorded, tags)] }
          rest.each { |key, recorded| result[key] = same?(recorded, found) }
          result
        end

        # @param keys [Array<String>]
        # @return [true, nil] nil if the backend failed
        def invalidate(keys) = keys.empty? || @accessor.invalidate(keys)

        private

        def covers?(tags, recorded) = recorded.each_key.all? { |key| tags.key?(key) }

        # Reads the current generations. If a remembered generation differs from the one in an entry, the remembered one
        # may be outdated and is read again.
        def found_for(all)
          wanted = {}
          all.each { |recorded| recorded.each { |key, generation| (wanted[key] ||= []) << generation } }
          wanted.each_value(&:uniq!)
          @accessor.generations(wanted.keys) { |key, bytes| wanted[key] == [Named.generation(bytes)] }
        end

        def same?(recorded, found)
          recorded.all? { |key, generation| Named.generation(found[key]) == generation }
        end

        # Creates generations. If another process creates one concurrently, both processes use that one.
        #
        # @return [Hash{String => Integer}]
        def begin_anew(keys)
          own = keys.to_h { |key| [key, Random.urandom(Named::GENERATION_BYTES)] }
          found = @backend.occupy_multi(own)
          own.to_h do |key, bytes|
            there = found[key]&.first || bytes
            unless there.bytesize == Named::GENERATION_BYTES # another program wrote these bytes
              @backend.set(key, bytes)
              there = bytes
            end
            [key, Named.generation(there)]
          end
        end
      end
    end
  end
end
