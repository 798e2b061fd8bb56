# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Musts
        # The shared segment without Rails' code.
        module Targets
          ratio "segment-1a", "shared: the backend's own get of 1 KB, of MemoryStore#read",
                value: "string-1kb", baseline: %w[memory_store read], candidate: %w[tiercel:shared: backend_get],
                at_most: 0.10
          ratio "segment-1b", "shared: the backend's own set of 1 KB when full, of MemoryStore#write",
                value: "string-1kb", baseline: %w[memory_store write], candidate: %w[tiercel:shared: backend_set_full],
                at_most: 0.5
          ratio "segment-2", "shared: 50 rows with frozen: true while another process writes, of MemoryStore#read",
                value: "rows-50", baseline: %w[memory_store read],
                candidate: ["tiercel:shared:#frozen=true", "read_beside_writer"], at_most: 0.03
          elsewhere "segment-5", "every safety test", command: "bin/test --long"
        end
      end
    end
  end
end
