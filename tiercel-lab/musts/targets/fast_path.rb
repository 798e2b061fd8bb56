# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Musts
        # Rails' API at the speed of the backend, compared with MemoryStore.
        module Targets
          { "1a" => ["read", 0.22], "1b" => ["fetch", 0.18],
            "1c" => ["write", 0.8] }.each do |number, (operation, bound)|
            ratio "fast-path-#{number}", "shared: #{operation} of 1 KB", value: "string-1kb",
                  baseline: ["memory_store", operation], candidate: ["tiercel:shared:", operation], at_most: bound
          end
          ratio "fast-path-1d", "shared: write of 1 KB when full", value: "string-1kb",
                baseline: %w[memory_store write], candidate: %w[tiercel:shared: write_full], at_most: 1.0
          elsewhere "fast-path-1e", "shared: the 99.9th percentile of writes when full below 100 medians",
                    command: "bin/lab latency --store tiercel:shared: --op write_full"
          ratio "fast-path-1f", "shared: read of 1 KB at least 30 times faster than MemCacheStore over loopback",
                value: "string-1kb", baseline: ["mem_cache_store#compress=false", "read"],
                candidate: %w[tiercel:shared: read], at_most: 1 / 30.0
          { "2a" => ["read_subscribed", 0.5], "2b" => ["fetch_expires_in", 0.3],
            "2c" => ["fetch_record", 0.7] }.each do |number, (operation, bound)|
            ratio "fast-path-#{number}", "shared: #{operation} of 1 KB", value: "string-1kb",
                  baseline: ["memory_store", operation], candidate: ["tiercel:shared:", operation], at_most: bound
          end
          { "3a" => ["read", 0.2], "3b" => ["fetch", 0.2], "3c" => ["write", 0.8],
            "3d" => ["fetch_expires_in", 0.3] }.each do |number, (operation, bound)|
            ratio "fast-path-#{number}", "memory: #{operation} of 1 KB", value: "string-1kb",
                  baseline: ["memory_store", operation], candidate: ["tiercel:memory:", operation], at_most: bound
          end
          ratio "fast-path-3e", "memory: read of 50 rows", value: "rows-50",
                baseline: %w[memory_store read], candidate: %w[tiercel:memory: read], at_most: 0.5
          { "4a" => ["read", 0.5], "4b" => ["write", 0.4] }.each do |number, (operation, bound)|
            ratio "fast-path-#{number}", "shared: #{operation} of 50 rows", value: "rows-50",
                  baseline: ["memory_store", operation], candidate: ["tiercel:shared:", operation], at_most: bound
          end
          ratio "fast-path-5", "shared: read_multi of 100 x 2 KB", value: "html-2kb",
                baseline: %w[memory_store read_multi], candidate: %w[tiercel:shared: read_multi], at_most: 0.35
        end
      end
    end
  end
end
