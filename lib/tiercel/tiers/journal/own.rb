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
            room = @keys.size + keys.size <= MOST_KEYS && (@bytes += keys.sum(&:bytesize)) <= MOST_BYTES
            room ? keys.each { |key| @keys[key] = (@number += 1) } : clear(prefix)
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

        # @return [Boolean]
        def repeat(give_up_at)
          return false unless @repeating.try_lock
          begin
            while (changes, noted = take)
              yield changes
              settle(*noted)
              return false if pending? && Clock.monotonic >= give_up_at
            end
            true
          ensure
            @repeating.unlock
          end
        end

        private

        # @param prefix [String, nil] nil: keys were lost
        def clear(prefix) = @prefixes[prefix] = (@number += 1)

        def take
          @lock.synchronize do
            next unless @any
            noted = [@keys.first(BATCH).to_h, @prefixes.dup]
            [Changes.new(noted[0].keys, noted[1].keys.compact, noted[1].key?(nil)), noted]
          end
        end

        # What was noted again meanwhile is to be repeated again.
        def settle(keys, prefixes)
          @lock.synchronize do
            @keys.delete_if { |key, number| keys[key] == number }
            @prefixes.delete_if { |prefix, number| prefixes[prefix] == number }
            forget if @keys.empty? && @prefixes.empty?
          end
        end

        def forget
          @keys = {}
          @prefixes = {}
          @bytes = @number = 0
          @any = false
        end
      end
    end
  end
end
