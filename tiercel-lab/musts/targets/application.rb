# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Musts
        # The cache work of a page within a request: 50 fragments at once, 20 reads, 10 fetches by record. CPU time of
        # the process. Where both could compress, neither does.
        module Targets
          { "2a" => ["redis", "redis_cache_store#compress=false", "tiercel:redis:#compress=false", 0.65,
                     "RedisCacheStore"],
            "2b" => ["memcached", "mem_cache_store#compress=false", "tiercel:memcached:#compress=false", 0.65,
                     "MemCacheStore"],
            "2c" => ["sqlite", "solid_cache_store:equal", "tiercel:sqlite:", 0.4, "Solid Cache"],
            "2d" => ["file", "file_store:tmpfs#compress=false", "tiercel:file:#compress=false", 0.3, "FileStore"],
            "2e" => ["shared", "memory_store", "tiercel:shared:", 0.25, "MemoryStore"] }
            .each do |number, (backend, baseline, candidate, bound, rails)|
              ratio "application-#{number}", "#{backend}: cache work of a page in a request, CPU time, of #{rails}",
                    value: "html-2kb-2000", baseline: [baseline, "page"], candidate: [candidate, "page"],
                    at_most: bound
            end
        end
      end
    end
  end
end
