# frozen_string_literal: true

require_relative "fifo"

module Tiercel
  module Lab
    module Simulator
      module Policies
        # FIFO with a second chance: an entry that was read since the hand last passed moves to the end of the queue
        # (Corbato, "A paging experiment with the Multics system", 1968).
        class Clock < FIFO
          def self.title = "CLOCK"

          private

          def on_hit(entry) = entry.hits = 1

          def make_room(bytes)
            pass(oldest) while @used + bytes > @capacity
          end

          def pass(entry)
            return evict(entry) if entry.hits.zero?
            entry.hits = 0
            @entries.delete(entry.key)
            @entries[entry.key] = entry
          end

          def oldest = @entries.each_value { |entry| return entry }
        end
      end
    end
  end
end
