# frozen_string_literal: true

require_relative "../larger_than_memory"

module Tiercel
  module Lab
    module Tables
      module Musts
        # Near hits of stores with tiers, compared with the near backend alone, over more keys than the CPU's caches
        # hold.
        module Targets
          near, stack = "tiercel:shared:", "tiercel:shared:?ttl=3600 redis:"
          disk = "tiercel:shared:?ttl=3600 sqlite:"
          { "1a" => ["string-1kb-2000", "", stack, "1 KB over Redis"],
            "1b" => ["string-1kb-2000", "#expires_in=3600", stack, "1 KB with an end over Redis"],
            "1c" => ["html-24kb-500", "", stack, "24 KB over Redis"],
            "1d" => ["html-24kb-500", "#expires_in=3600", stack, "24 KB with an end over Redis"],
            "1e" => ["string-1kb-2000", "", disk, "1 KB over SQLite"] }.each do |number, (value, options, tiers, words)|
            baseline, candidate = [near, tiers].map { |store| ["#{store}#{options}", "wall_read"] }
            ratio("tiers-#{number}", "shared: read of #{words}, all hits near, of shared: alone",
                  value:, baseline:, candidate:, at_most: 1.3)
          end
          elsewhere "tiers-2", "another machine's changes: how long until they are seen, idle and beside busy threads",
                    command: "bin/lab tiers --no-cells"
          elsewhere "tiers-3", "any gap ends trust; races, killed writers, a last tier that is away",
                    command: "bin/test test/tiers"
          elsewhere "tiers-6", "a read_multi with half of 1,000 keys near is one trip to the last tier",
                    command: "bin/test test/tiers/trips_test.rb"
          limit "tiers-8", "shared: over sqlite:, Zipf 1.0, eight times the segment: a read at most 0.5 of sqlite: " \
                           "alone, as many hits, also once the segment is lost",
                measuring: -> { LargerThanMemory.new.judge }
        end
      end
    end
  end
end
