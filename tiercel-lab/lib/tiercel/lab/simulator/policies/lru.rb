# frozen_string_literal: true

require_relative "fifo"

module Tiercel
  module Lab
    module Simulator
      module Policies
        # Evicts the least recently used entry. Reads and overwrites both count as use.
        class LRU < FIFO
          private

          def on_hit(entry)
            @entries.delete(entry.key)
            @entries[entry.key] = entry
          end

          def on_overwrite(entry) = on_hit(entry)
        end
      end
    end
  end
end
