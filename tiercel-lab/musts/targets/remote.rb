# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Musts
        # memcached and Redis, without compression on either side.
        module Targets
          { "1" => ["mem_cache_store", "memcached", { "read" => 0.88, "write" => 0.88, "read_multi" => 0.6 }],
            "2" => ["redis_cache_store", "redis", { "read" => 0.8, "write" => 0.88, "read_multi" => 0.5 }] }
            .each do |number, (rails, scheme, bounds)|
            bounds.each_with_index do |(operation, bound), index|
              ratio "remote-#{number}#{("a".ord + index).chr}", "#{scheme}: #{operation} of 2 KB, of Rails' store",
                    value: "html-2kb", baseline: ["#{rails}#compress=false", operation],
                    candidate: ["tiercel:#{scheme}:#compress=false", operation], at_most: bound
            end
          end
          { "3a" => "memcached", "3b" => "redis" }.each do |number, scheme|
            ratio "remote-#{number}", "#{scheme}: read of 2 KB, of the same bytes over a raw socket", value: "html-2kb",
                  baseline: ["raw_#{scheme}", "read"], candidate: ["tiercel:#{scheme}:#compress=false", "read"],
                  at_most: 1.35
          end
          elsewhere "remote-5", "every row of the failure table", command: "bin/test store test/faults"
        end
      end
    end
  end
end
