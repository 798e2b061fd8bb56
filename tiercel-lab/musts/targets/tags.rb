# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Musts
        # Entries with tags, over more keys than the CPU's caches hold.
        module Targets
          { "1a" => ["string-1kb-2000", "1 KB"], "1b" => ["html-24kb-500", "24 KB"] }.each do |number, (value, words)|
            ratio "tags-#{number}", "shared: fetch of #{words} that hits, three tags named, of one without tags",
                  value:, baseline: ["tiercel:shared:", "fetch"], candidate: ["tiercel:shared:", "fetch_tagged"],
                  at_most: 2.0
          end
          { "1c" => ["string-1kb-2000", "1 KB"], "1d" => ["html-24kb-500", "24 KB"] }.each do |number, (value, words)|
            ratio "tags-#{number}", "shared: read of #{words} with three tags, of one without tags",
                  value:, baseline: ["tiercel:shared:", "read"], candidate: ["tiercel:shared:", "read_tagged"],
                  at_most: 2.0
          end
          elsewhere "tags-2", "tags named in the call: a hit is one trip, a cold fetch as many as without tags",
                    command: "bin/test test/store/tags_trips_test.rb"
          elsewhere "tags-3", "no read that begins after an invalidation gives what was computed before it",
                    command: "bin/test test/store/tags_contract_test.rb"
        end
      end
    end
  end
end
