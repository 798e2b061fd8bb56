# frozen_string_literal: true

require_relative "../pages"

module Tiercel
  module Lab
    module Tables
      module Musts
        # Targets for the CPU time of a page's cache calls in a request: 50 fragments in one call, 20 reads, 10 fetches
        # by record. No store compresses. Further targets measure whole pages of the Rails application.
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
          { "3a" => "/products", "3b" => "/products/guides" }.each do |number, path|
            limit "application-#{number}",
                  "shared: #{path} (#{App::Design::PAGES[path]}) of the Rails application, every fragment a hit: no " \
                  "more CPU time than on MemoryStore",
                  measuring: -> { Pages.new(path).judge }
          end
        end
      end
    end
  end
end
