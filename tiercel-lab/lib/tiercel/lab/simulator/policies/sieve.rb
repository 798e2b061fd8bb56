# frozen_string_literal: true

module Tiercel
  module Lab
    module Simulator
      module Policies
        # A queue whose entries never move. A hand goes from the oldest to the newest entry, clears the marks of entries
        # that were read, and evicts the first entry without a mark. Source: Zhang, Yang, Yue, Vigfusson, Rashmi: "SIEVE
        # is simpler than LRU", NSDI 2024, algorithm 1.
        class Sieve < Policy
          # A queue item with its older and its newer neighbour.
          Node = Struct.new(:entry, :older, :newer)

          def self.title = "SIEVE"

          private

          def on_hit(entry) = entry.hits = 1

          def on_insert(entry)
            node = Node.new(entry, @newest, nil)
            @newest ? @newest.newer = node : @oldest = node
            @newest = node
            entry.queue = node
          end

          def on_remove(entry)
            node = entry.queue
            node.older ? node.older.newer = node.newer : @oldest = node.newer
            node.newer ? node.newer.older = node.older : @newest = node.older
            @hand = node.newer if @hand.equal?(node)
          end

          def make_room(bytes)
            step while @used + bytes > @capacity
          end

          def step
            @hand ||= @oldest
            entry = @hand.entry
            return evict(entry) if entry.hits.zero? # on_remove moves the hand on
            entry.hits = 0
            @hand = @hand.newer
          end
        end
      end
    end
  end
end
