# frozen_string_literal: true

module Tiercel
  module Lab
    module Simulator
      module Policies
        # First in, first out: what was inserted first goes first, read or not.
        # An overwrite keeps its place.
        class FIFO < Policy
          private

          # The Hash of the entries is the queue: Ruby keeps insertion order.
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
