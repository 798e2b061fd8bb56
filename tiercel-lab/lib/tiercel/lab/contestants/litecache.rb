# frozen_string_literal: true

require_relative "../contestant"

module Tiercel
  module Lab
    module Contestants
      # Litecache of the gem litestack, as its authors ship it (`litecache`), or with the pragmas that the others of
      # a comparison have (`litecache:equal`: synchronous NORMAL; WAL and 128 MB of mmap are its own defaults).
      class Litecache < Contestant
        EQUAL = { sync: 1 }.freeze

        def medium = :disk

        def gems = %w[litestack]

        def bundle = "litecache"

        def build(context)
          # The gem sets Rails' format for the whole process to 7.0, which is what its users have.
          require "active_support/cache/litecache"
          folder = context.directory("disk")
          ActiveSupport::Cache::Litecache.new(
            path: File.join(folder, "litecache.sqlite3"), config_path: File.join(folder, "none.yml"),
            size: context.capacity_bytes, **(place == "equal" ? EQUAL : {}), **options
          )
        end

        def configuration = configuration_line(":litecache")
      end

      register "litecache", Litecache
    end
  end
end
