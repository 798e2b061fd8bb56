# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module App
        # The `config.cache_store` line of each store, and the server it needs; and the pages.
        module Design
          # @!attribute [r] text
          #   @return [String] as the application takes it; `%<memory>s` and `%<disk>s` are folders of the run's own
          # @!attribute [r] server
          #   @return [Symbol, nil]
          # @!attribute [r] tiercel
          #   @return [Boolean]
          Store = Data.define(:text, :server, :tiercel)

          def self.tiercel(text, server = nil) = Store.new("tiercel_store #{text}", server, true)
          private_class_method :tiercel
          def self.rails(text, server = nil) = Store.new(text, server, false)
          private_class_method :rails

          # All stores have their default options; both SQLite stores wait two seconds for a busy database.
          STORES = {
            "tiercel:shared:" => tiercel('shared:%<memory>s/segment {"size":"64MB"}'),
            "tiercel:memory:" => tiercel("memory:"),
            "tiercel:file:" => tiercel("file:%<disk>s/files"),
            "tiercel:sqlite:" => tiercel("sqlite:%<disk>s/cache.db"),
            "tiercel:redis:" => tiercel("%<url>s", :redis),
            "tiercel:memcached:" => tiercel("%<url>s", :memcached),
            "tiercel:shared: sqlite:" => tiercel('shared:%<memory>s/segment?size=64MB&ttl=60 sqlite:%<disk>s/cache.db'),
            "tiercel:shared: redis:" => tiercel("shared:%<memory>s/segment?size=64MB %<url>s", :redis),
            "memory_store" => rails("memory_store"),
            "file_store" => rails("file_store %<disk>s/files"),
            "redis_cache_store" => rails('redis_cache_store {"url":"%<url>s"}', :redis),
            "mem_cache_store" => rails("mem_cache_store %<address>s", :memcached),
            "solid_cache_store" => rails("solid_cache_store"),
            "null_store" => rails("null_store"),
          }.freeze

          # The cache calls of each page.
          PAGES = {
            "/products" => "50 fragments",
            "/products/guides" => "10 fragments of 8 KB",
            "/products/summaries" => "20 by record",
            "/api/products" => "one value of 50 Hashes",
            "/products/1" => "a counter, a fragment",
            "/search?q=amber" => "a rate limit",
          }.freeze
          # Pages with another body for every request.
          COUNTED = %w[/products/1].freeze
        end
      end
    end
  end
end
