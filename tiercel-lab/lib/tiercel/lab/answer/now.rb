# frozen_string_literal: true

require_relative "../errors"
require_relative "../stores"

module Tiercel
  module Lab
    module Answer
      # The store that the reader's application has now: named by `--now`, or found in its configuration, which is read
      # as text and never run.
      module Now
        FILE = "config/environments/production.rb"
        LINE = /^\s*config\.cache_store\s*=\s*\[?\s*:(\w+)\s*,?\s*(?:"([^"]*)")?/
        # Rails' names, and the lab's contestant for each.
        STORES = { "memory_store" => "memory_store", "file_store" => "file_store:disk",
                   "mem_cache_store" => "mem_cache_store", "redis_cache_store" => "redis_cache_store",
                   "solid_cache_store" => "solid_cache_store", "litecache" => "litecache",
                   "null_store" => "null_store" }.freeze

        module_function

        # @param text [String] Rails' name of a store, or any contestant
        # @return [String] text of a contestant
        # @raise [UsageError]
        def named(text) = Contestants.parse(STORES.fetch(text.delete_prefix(":"), text)).text

        # @param folder [String] root of an application
        # @return [String, nil] text of a contestant; nil without such a line
        def found(folder = Dir.pwd)
          line = File.read(File.join(folder, FILE), encoding: "BINARY")[LINE] or return
          store, place = line.match(LINE).captures
          return STORES[store] unless store == "tiercel_store"
          place ? "tiercel:#{place}" : "tiercel"
        rescue SystemCallError
          nil
        end
      end
    end
  end
end
