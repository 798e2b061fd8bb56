# frozen_string_literal: true

module Tiercel
  module Lab
    module Simulator
      module Policies
        # Evicts the oldest entry, whether it was read or not. An overwritten entry keeps its place.
        class FIFO < Policy
          private

          # The Hash of the entries is the queue, because Ruby keeps the order of insertion.
          def on_insert(entry); end

          def on_remove(entry); end

          def make_room(bytes)
            @entries.each_value do |oldest|
              break if @used + bytes <= @capacity
              evict(oldest)
            end
          end
        end
      end
    end
  end
end
