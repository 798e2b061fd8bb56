# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Musts
        # Reads with cold processor caches beside warm ones, over more keys than these caches hold; and the cost of a
        # boot.
        module Targets
          { "1a" => ["read", "string-1kb", 0.165], "1b" => ["fetch", "string-1kb", 0.165],
            "1c" => ["read_cpu_cold", "string-1kb-2000", 0.27],
            "1d" => ["fetch_cpu_cold", "string-1kb-2000", 0.27] }.each do |number, (operation, value, bound)|
            ratio "cold-#{number}", "shared: #{operation} of #{Values.fetch(value).title}", value:,
                  baseline: ["memory_store", operation], candidate: ["tiercel:shared:", operation], at_most: bound
          end
          elsewhere "cold-2", "shared: until the first read, at most 0.35 of RedisCacheStore's CPU time, 0.45 of its " \
                              "memory", command: "bin/lab boot --rounds 40 --store redis_cache_store,tiercel:shared:"
        end
      end
    end
  end
end
