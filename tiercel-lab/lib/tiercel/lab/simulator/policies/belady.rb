# frozen_string_literal: true

module Tiercel
  module Lab
    module Simulator
      module Policies
        # Knows the future: evicts the entry whose next read is the latest. If all sizes are equal and nothing is
        # written or expires, no policy that keeps each missed entry has a higher hit ratio (Belady, "A study of
        # replacement algorithms for a virtual-storage computer", 1966). A read after a write or a delete does not count
        # as the entry's next read.
        class Belady < Policy
          NEVER = Float::INFINITY

          def self.title = "Belady's optimum"

          # @param trace [Trace]
          # @return [void]
          def prepare(trace)
            upcoming = {}
            @heap = []
            @next_reads = Array.new(trace.size)
            (trace.size - 1).downto(0) do |index|
              request = trace.requests[index]
              @next_reads[index] = upcoming.fetch(request.key, NEVER)
              upcoming[request.key] = request.op == :read ? index : NEVER
            end
          end

          # @return [Boolean] see {Policy#set}
          # @raise [ArgumentError] without a trace
          def set(key, bytes, ttl = nil)
            raise ArgumentError, "Belady's optimum needs the whole trace: call prepare first" unless @next_reads
            super
          end

          private

          def on_hit(entry) = schedule(entry)

          def on_insert(entry) = schedule(entry)

          def on_overwrite(entry) = schedule(entry)

          def on_remove(entry); end

          def schedule(entry)
            entry.hits = @next_reads[@index]
            push([entry.hits, entry])
          end

          def make_room(bytes)
            while @used + bytes > @capacity
              at, entry = pop
              evict(entry) if entry.hits == at && @entries[entry.key].equal?(entry)
            end
          end

          # A binary heap with the latest next read on top. It skips items of entries that have been rescheduled.
          def push(item)
            place = @heap.size
            @heap << item
            while place.positive? && @heap[(place - 1) / 2].first < item.first
              @heap[place] = @heap[(place - 1) / 2]
              place = (place - 1) / 2
            end
            @heap[place] = item
          end

          def pop
            top = @heap.first
            last = @heap.pop
            sink(last) unless @heap.empty?
            top
          end

          def sink(item)
            place = 0
            while (child = (2 * place) + 1) < @heap.size
              child += 1 if child + 1 < @heap.size && @heap[child + 1].first > @heap[child].first
              break if @heap[child].first <= item.first
              @heap[place] = @heap[child]
              place = child
            end
            @heap[place] = item
          end
        end
      end
    end
  end
end
