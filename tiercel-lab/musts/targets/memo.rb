# frozen_string_literal: true

require_relative "../fastest"

module Tiercel
  module Lab
    module Tables
      module Musts
        # Long Strings that a process reads repeatedly, over more keys than the CPU's caches hold, with `memo: 128MB`
        # and by default. Also the cost of a read among a million entries.
        module Targets
          memo = "tiercel:shared:#memo=128MB"
          plain = "tiercel:shared:#memo=128MB,compress=false"
          compressed = "tiercel:shared:#memo=128MB,compress=true"
          { "1a" => ["string-1kb-2000", "read", memo, 0.15, "read of 1 KB"],
            "1b" => ["string-1kb-2000", "fetch", memo, 0.13, "fetch of 1 KB that hits"],
            "1c" => ["html-24kb-500", "reread", memo, 0.30, "read of 24 KB"],
            "1d" => ["html-100kb-200", "reread", memo, 0.36, "read of 100 KB"],
            "1e" => ["html-822kb-100", "reread", compressed, 0.5, "read of 822 KB, compressed, from the third on"],
            "1f" => ["html-822kb-100", "reread", plain, 0.5, "read of 822 KB, not compressed, from the third on"],
            "1g" => ["html-2kb-2000", "read_multi_in_turn", memo, 0.14, "read_multi of 100 x 2 KB"] }
            .each do |number, (value, operation, store, bound, words)|
              facts = { value:, baseline: ["memory_store", operation] }
              ratio "memo-#{number}", "shared: #{words}, memo: 128MB", **facts, candidate: [store, operation],
                    at_most: bound
              default = store.sub("memo=128MB,", "").sub("#memo=128MB", "")
              reported "memo-#{number}-default", "shared: #{words}, memo by default", **facts,
                       candidate: [default, operation]
            end
          reported "memo-1h", "shared: read of 822 KB in turn, 200 of them: more than the memo of 128 MB holds",
                   value: "html-822kb-200", baseline: %w[memory_store reread], candidate: [memo, "reread"]
          off = "tiercel:shared:#memo=false"
          ratio "memo-2a", "shared: first read of 24 KB, memo: 128MB, of memo: false", value: "html-24kb-500",
                baseline: [off, "first_read"], candidate: [memo, "first_read"], at_most: 1.05
          ratio "memo-2b", "shared: read of 24 KB in turn, ten times what the memo holds, of memo: false",
                value: "html-24kb-500", baseline: [off, "read"], candidate: ["tiercel:shared:#memo=1200KB", "read"],
                at_most: 1.05
          ratio "memo-2d", "shared: read of 1 KB in turn, ten times what the memo holds, of memo: false",
                value: "string-1kb-10000", baseline: [off, "reread"], candidate: ["tiercel:shared:#memo=1MB", "reread"],
                at_most: 1.05
          elsewhere "memo-2c", "with memo: false nothing is slower than the revision before by more than 5 %",
                    command: "bin/lab compare REVISION . --store tiercel:shared:#memo=false"
          elsewhere "memo-3", "no stale and no torn value under four processes; resident bytes within the bound",
                    command: "bin/test --long test/segment/memo_processes_test.rb"
          { "5a" => ["html-24kb-500", 0.35, "24 KB, 500 of them"],
            "5b" => ["html-100kb-100", 0.4, "100 KB, 100 of them"],
            "5c" => ["html-822kb-10", 0.3, "822 KB, 10 of them"] }.each do |number, (value, bound, words)|
            { "read" => "reread", "fetch" => "fetch" }.each do |call, operation|
              ratio "memo-#{number}-#{call}", "shared: #{call} of #{words}, no option", value:,
                    baseline: ["memory_store", operation], candidate: ["tiercel:shared:", operation], at_most: bound
            end
          end
          ratio "memo-5d", "shared: read of 1 KB, 2,000 of them, no option", value: "string-1kb-2000",
                baseline: %w[memory_store read], candidate: %w[tiercel:shared: read], at_most: 0.165
          elsewhere "memo-6", "ten workers, no option: CPU and memory by memo: false (24kb, mixed, first, ten_times, " \
                              "and with FULL_MASTER=1)",
                    command: "bin/exec ruby --yjit -Ilib test/support/memo_workers.rb mixed"
          kept "memo-7", "no option: tiercel is the fastest of the default list in every cell but writes of 822 KB",
               run: "compare", command: "bin/lab --quick, then bin/lab musts memo-7",
               judging: Fastest.new("tiercel", except: [%w[html-822kb write]]).method(:judge)
        end
      end
    end
  end
end
