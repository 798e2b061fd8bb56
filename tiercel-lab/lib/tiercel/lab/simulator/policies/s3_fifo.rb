# frozen_string_literal: true

module Tiercel
  module Lab
    module Simulator
      module Policies
        # Three queues: a small one for new entries, a main one, and a ghost queue of keys that the small queue evicted.
        #
        # Source: Yang, Zhang, Qiu, Yue, Vigfusson: "FIFO queues are all you need for cache eviction", SOSP 2023,
        # algorithm 1. Sizes are in bytes: the small queue has 10 % of the capacity, main 90 %. The ghost queue
        # remembers keys worth as many bytes as main holds. The paper's pseudocode promotes at two hits, this class at
        # `promote_at`. A write does not count as a hit, and an overwritten entry keeps its place.
        class S3FIFO < Policy
          # The small queue's share of the capacity.
          SMALL_SHARE = 0.1
          # The hit counter's maximum.
          MOST_HITS = 3

          def self.title = "S3-FIFO"

          # @param promote_at [Integer] hits in the small queue that move an entry to the main queue
          def initialize(capacity, weigher: Weigher::VALUE, promote_at: 1)
            super(capacity, weigher:)
            @promote_at = promote_at
            @small = {}
            @main = {}
            @ghost = {}
            @small_bytes = @main_bytes = @ghost_bytes = 0
            @main_capacity = @capacity - (@capacity * SMALL_SHARE).floor
            @small_capacity = @capacity - @main_capacity
          end

          # @return [Hash{Symbol => Hash}] for each queue its keys, oldest first, and its size in bytes
          def queues
            { small: { keys: @small.keys, bytes: @small_bytes },
              main: { keys: @main.keys, bytes: @main_bytes },
              ghost: { keys: @ghost.keys, bytes: @ghost_bytes } }
          end

          # @return [Integer] capacity of the main queue, and of the ghost queue, in bytes
          attr_reader :main_capacity

          private

          def on_hit(entry)
            entry.hits += 1 if entry.hits < MOST_HITS
          end

          def on_insert(entry)
            remembered = @ghost.delete(entry.key)
            if remembered
              @ghost_bytes -= remembered
              push_main(entry)
            else
              push_small(entry)
            end
          end

          def on_remove(entry)
            if entry.queue == :small
              @small.delete(entry.key)
              @small_bytes -= entry.bytes
            else
              @main.delete(entry.key)
              @main_bytes -= entry.bytes
            end
          end

          def resize(entry, cost)
            entry.queue == :small ? @small_bytes += cost - entry.bytes : @main_bytes += cost - entry.bytes
            super
          end

          def make_room(bytes)
            while @used + bytes > @capacity
              (@small_bytes >= @small_capacity && !@small.empty?) || @main.empty? ? evict_from_small : evict_from_main
            end
          end

          def evict_from_small
            while (entry = oldest(@small))
              return drop_newcomer(entry) if entry.hits < @promote_at
              on_remove(entry)
              push_main(entry)
              evict_from_main while @main_bytes > @main_capacity
            end
          end

          def drop_newcomer(entry)
            evict(entry)
            @ghost_bytes += entry.bytes
            @ghost[entry.key] = entry.bytes
            @ghost_bytes -= @ghost.shift.last while @ghost_bytes > @main_capacity
          end

          def evict_from_main
            while (entry = oldest(@main))
              return evict(entry) if entry.hits.zero?
              entry.hits -= 1
              @main.delete(entry.key)
              @main[entry.key] = entry
            end
          end

          def oldest(queue)
            queue.each_value { |entry| return entry }
            nil
          end

          def push_small(entry)
            entry.queue = :small
            @small[entry.key] = entry
            @small_bytes += entry.bytes
          end

          # Resets the hits: hits in the small queue have earned the place here, and do not count twice.
          def push_main(entry)
            entry.queue = :main
            entry.hits = 0
            @main[entry.key] = entry
            @main_bytes += entry.bytes
          end
        end

        # {S3FIFO} with the promotion of the paper's pseudocode, at two hits.
        class S3FIFOAtTwo < S3FIFO
          def self.title = "S3-FIFO, promotion at two hits"

          def initialize(capacity, weigher: Weigher::VALUE) = super(capacity, weigher:, promote_at: 2)
        end
      end
    end
  end
end
