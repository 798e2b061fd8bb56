# frozen_string_literal: true

require_relative "../../clock"

module Tiercel
  class Tiers < Backend
    class Journal
      # What one process keeps by itself.
      #
      # @private
      class Own
        def initialize
          @lock = Mutex.new
          @repeating = Mutex.new
          forget
        end

        # @return [Boolean]
        def pending? = @any

        # @return [true]
        def note(keys, prefix)
          @lock.synchronize do
            bytes = @bytes + keys.sum { |key| @keys.key?(key) ? 0 : key.bytesize }
            room = bytes <= MOST_BYTES && (@keys.size + keys.size <= MOST_KEYS || (@keys.keys | keys).size <= MOST_KEYS)
            room ? keep(keys, bytes) : clear(prefix)
            @any = true
          end
        end

        # @return [true]
        def note_matching(pattern, prefix)
          @lock.synchronize do
            bytes = @bytes + (@patterns.key?(pattern) ? 0 : pattern.bytesize)
            if bytes <= MOST_BYTES
              @bytes = bytes
              @patterns[pattern] = (@number += 1)
            else
              clear(prefix)
            end
            @any = true
          end
        end

        # @return [true]
        def note_clear(prefix)
          @lock.synchronize do
            clear(prefix)
            @any = true
          end
        end

        # @yieldparam changes [Changes]
        # @yieldreturn [Symbol, Object] :stays where none of it could be done
        # @return [Boolean, nil] nil: something stays
        def repeat(give_up_at)
          return false unless @repeating.try_lock
          begin
            while (changes, noted = take)
              return if (yield changes) == :stays
              settle(*noted)
              return false if pending? && Clock.monotonic >= give_up_at
            end
            true
          ensure
            @repeating.unlock
          end
        end

        private

        # The last ones come last, so that others have their turn before what is noted while it is repeated.
        def keep(keys, bytes)
          @bytes = bytes
          keys.each do |key|
            @keys.delete(key)
            @keys[key] = (@number += 1)
          end
        end

        # @param prefix [String, nil] nil: keys were lost
        def clear(prefix) = @prefixes[prefix] = (@number += 1)

        def take
          @lock.synchronize do
            next unless @any
            noted = [@keys.first(BATCH).to_h, @prefixes.dup, @patterns.dup]
            [Changes.new(noted[0].keys, noted[1].keys.compact, noted[2].keys, noted[1].key?(nil)), noted]
          end
        end

        # What was noted again meanwhile is to be repeated again.
        def settle(keys, prefixes, patterns)
          @lock.synchronize do
            @keys.delete_if { |key, number| keys[key] == number && (@bytes -= key.bytesize) }
            @prefixes.delete_if { |prefix, number| prefixes[prefix] == number }
            @patterns.delete_if { |pattern, number| patterns[pattern] == number && (@bytes -= pattern.bytesize) }
            forget if @keys.empty? && @prefixes.empty? && @patterns.empty?
          end
        end

        def forget
          @keys = {}
          @prefixes = {}
          @patterns = {}
          @bytes = @number = 0
          @any = false
        end
      end
    end
  end
end
