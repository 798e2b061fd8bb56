# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Musts
        # The cost of the guarantee that a block runs only once.
        module Targets
          { "1a" => ["shared:", "memory_store", 0.5],
            "1b" => ["memcached:#compress=false", "mem_cache_store#compress=false", 0.95],
            "1c" => ["redis:#compress=false", "redis_cache_store#compress=false", 0.95] }
            .each do |number, (ours, rails, bound)|
            ratio "leases-#{number}", "#{ours[/\w+/]}: one of many cold fetches of 2 KB, lease taken, of Rails' store",
                  value: "html-2kb", baseline: [rails, "fetch_cold"], candidate: ["tiercel:#{ours}", "fetch_cold"],
                  at_most: bound
          end
          elsewhere "leases-2", "a hit is one trip, a cold fetch at most one more than Rails' own, counted on the wire",
                    command: "bin/test test/store/trips_test.rb test/store/fetch_nodes_test.rb"
          elsewhere "leases-3", "blocks run once among threads and processes; lost holders, deletes, cycles",
                    command: "bin/test test/store/fetch_contract_test.rb test/faults/leases_test.rb"
        end
      end
    end
  end
end
