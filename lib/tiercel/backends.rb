# frozen_string_literal: true

require_relative "backend"
require_relative "optional_gems"
require_relative "registry"

module Tiercel
  # The built-in backends, by the scheme of their URL.
  #
  # A backend class responds to `.build(url, options)` and `.option_names`. `url` is a {BackendURL}. `options` is the
  # Hash of the backend's own options; options in the URL's query override those of the store. `.option_names` lists
  # the supported options as Symbols.
  module Backends
    REGISTRY = Registry.new("backend")

    REGISTRY.register(:null) { require_relative("backends/null"); Null }
    REGISTRY.register(:memory) { require_relative("backends/memory_segment"); MemorySegment }
    REGISTRY.register(:shared) { require_relative("backends/shared"); Shared }
    REGISTRY.register(:file) { require_relative("backends/file"); File }
    needs = ->(gem) { { gem: gem, version: OptionalGems.requirement(gem) } }
    REGISTRY.register(:sqlite, **needs["sqlite3"]) { require_relative("backends/sqlite"); SQLite }
    REGISTRY.register(:memcached) { require_relative("backends/memcached"); Memcached }
    %i[redis rediss redis+cluster rediss+cluster unix].each do |scheme|
      REGISTRY.register(scheme) { require_relative("backends/redis"); Redis }
    end
  end
end
