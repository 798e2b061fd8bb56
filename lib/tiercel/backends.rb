# frozen_string_literal: true

require_relative "backend"
require_relative "extensions"
require_relative "optional_gems"
require_relative "registry"

module Tiercel
  # The backends that exist, by the scheme of their URL.
  #
  # A backend class answers to `.build(url, options)`, where `url` is a
  # {BackendURL} and `options` the Hash of that backend's own options (those of
  # the URL's query string merged over those of the store), and to
  # `.option_names`, the Symbols it knows.
  module Backends
    REGISTRY = Registry.new("backend")

    REGISTRY.register(:null) { require_relative("backends/null"); Null }
    REGISTRY.register(:memory) { require_relative("backends/memory"); Memory }
    REGISTRY.register(:shared) do
      if Extensions.load("segment")
        require_relative("backends/shared")
        Shared
      else
        require_relative("backends/shared_missing")
        SharedMissing
      end
    end
    REGISTRY.register(:file) { require_relative("backends/file"); File }
    needs = ->(gem) { { gem: gem, version: OptionalGems.requirement(gem) } }
    REGISTRY.register(:sqlite, **needs["sqlite3"]) { require_relative("backends/sqlite"); SQLite }
    REGISTRY.register(:memcached, **needs["dalli"]) { require_relative("backends/memcached"); Memcached }
    %i[redis rediss redis+cluster rediss+cluster unix].each do |scheme|
      REGISTRY.register(scheme, **needs["redis-client"]) { require_relative("backends/redis"); Redis }
    end
  end
end
