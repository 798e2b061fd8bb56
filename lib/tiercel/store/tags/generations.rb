# frozen_string_literal: true

require_relative "named"

module Tiercel
  module Store
    module Tags
      # The generations of tags, as the backend has them: 8 random bytes under a key of their own. A tag is invalidated
      # when its generation goes; whoever writes next begins another one.
      #
      # @private
      class Generations
        # The answer of a guarded call where the backend failed.
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

        # Has the tags know their generations, so that what is computed from now on can be written with them. Those that
        # have none begin one.
        #
        # @param tags [Named]
        # @return [Boolean] false where the backend failed
        def fix(tags)
          return false if tags.lost?
          tags.know(@accessor.far_generations(tags.keys)) unless tags.known
          unknown = tags.unknown
          return true if unknown.empty?
          return tags.lose if @guard.timing_out?
          begun = @guard.call(:begin_tags, returning: LOST) { begin_anew(unknown) }
          return tags.lose if LOST.equal?(begun)
          tags.known.merge!(begun)
          true
        end

        # @param recorded [Hash{String => Integer}] by key, what an entry was written with
        # @param tags [Named, nil] whose generations were read with the entry
        # @return [Boolean] whether they are current
        def current?(recorded, tags = nil)
          known = tags&.known
          return recorded.all? { |key, generation| known[key] == generation } if known && covers?(tags, recorded)
          same?(recorded, found_for([recorded]))
        end

        # @param all [Array<Hash{String => Integer}>] of several entries
        # @param tags [Named, nil]
        # @return [Array<Boolean>] as {#current?}; one trip at most
        def all_current(all, tags = nil)
          rest = all.reject { |recorded| tags&.known && covers?(tags, recorded) }
          found = rest.empty? ? {} : found_for(rest)
          all.map do |recorded|
            rest.include?(recorded) ? same?(recorded, found) : current?(recorded, tags)
          end
        end

        # @param keys [Array<String>]
        # @return [true, nil] nil where the backend failed
        def invalidate(keys) = keys.empty? || @accessor.invalidate(keys)

        private

        def covers?(tags, recorded) = recorded.each_key.all? { |key| tags.keys.include?(key) }

        # A remembered generation that one of the entries contradicts may be older than that entry.
        def found_for(all)
          @accessor.generations(all.flat_map(&:keys).uniq) do |key, bytes|
            all.all? { |recorded| [nil, Named.generation(bytes)].include?(recorded[key]) }
          end
        end

        def same?(recorded, found)
          recorded.all? { |key, generation| Named.generation(found[key]) == generation }
        end

        # A generation that another process has begun concurrently stands.
        #
        # @return [Hash{String => Integer}]
        def begin_anew(keys)
          own = keys.to_h { |key| [key, Random.urandom(Named::GENERATION_BYTES)] }
          found = @backend.occupy_multi(own)
          own.to_h do |key, bytes|
            there = found[key]&.first || bytes
            unless there.bytesize == Named::GENERATION_BYTES # somebody else's bytes
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
