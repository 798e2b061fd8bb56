# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Musts
        # SQLite and files. "Equal" contestants have journal_mode WAL and the same synchronous and mmap_size.
        module Targets
          sizes = { "10" => "string-10b", "100" => "string-100b", "1000" => "string-1000b" }
          sizes.each do |bytes, value|
            { "read" => ["a", 1 / 2.0], "write" => ["b", 1 / 2.5] }.each do |operation, (letter, bound)|
              ratio "disk-1#{letter}-#{bytes}", "sqlite: #{operation} of #{bytes} B, of Litecache with equal pragmas",
                    value:, baseline: ["litecache:equal", operation], candidate: ["tiercel:sqlite:", operation],
                    at_most: bound
            end
          end
          { "read" => ["a", 1 / 4.0], "write" => ["b", 1 / 6.0] }.each do |operation, (letter, bound)|
            ratio "disk-2#{letter}",
              "sqlite: #{operation} of 10,000 B, of Litecache, each with its default compression",
                  value: "string-10000b", baseline: ["litecache:equal", operation],
                  candidate: ["tiercel:sqlite:", operation], at_most: bound
          end
          { "read" => ["a", 1 / 5.0], "write" => ["b", 1 / 12.0] }.each do |operation, (letter, bound)|
            ratio "disk-3#{letter}", "sqlite: #{operation} of 1,000 B, of Solid Cache on SQLite with equal pragmas",
                  value: "string-1000b", baseline: ["solid_cache_store:equal", operation],
                  candidate: ["tiercel:sqlite:", operation], at_most: bound
          end
          { "a" => ["html-2kb", 0.7], "b" => ["html-822kb", 0.5] }.each do |letter, (value, bound)|
            ratio "disk-4#{letter}", "file: read, of FileStore, default compression of each (#{value})", value:,
                  baseline: %w[file_store:tmpfs read], candidate: %w[tiercel:file: read], at_most: bound
          end
          elsewhere "disk-5", "size held within 5 % on disk after writing ten times as much",
                    command: "bin/test test/backends/sqlite_test.rb"
        end
      end
    end
  end
end
