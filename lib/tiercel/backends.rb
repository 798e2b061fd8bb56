# frozen_string_literal: true

# The built-in backends, by the scheme of their URL.
#
# A backend class responds to `.build(url, options)` and `.option_names`. `url` is a {BackendURL}. `options` is the
# Hash of the backend's own options; options in the URL's query override those of the store. `.option_names` lists
# the supported options as Symbols.
module Tiercel::Backends
  autoload :Disk, "tiercel/backends/disk"
  autoload :File, "tiercel/backends/file"
  autoload :Memcached, "tiercel/backends/memcached"
  autoload :MemorySegment, "tiercel/backends/memory_segment"
  autoload :Null, "tiercel/backends/null"
  autoload :Redis, "tiercel/backends/redis"
  autoload :Remote, "tiercel/backends/remote"
  autoload :SQLite, "tiercel/backends/sqlite"
  autoload :SegmentBackend, "tiercel/backends/segment_backend"
  autoload :Shared, "tiercel/backends/shared"

  REGISTRY = Tiercel::Registry.new("backend")

  REGISTRY.register(:null) { Null }
  REGISTRY.register(:memory) { MemorySegment }
  REGISTRY.register(:shared) { Shared }
  REGISTRY.register(:file) { File }
  REGISTRY.register(:sqlite, gem: "sqlite3") { SQLite }
  REGISTRY.register(:memcached) { Memcached }
  %i[redis rediss redis+cluster rediss+cluster unix].each do |scheme|
    REGISTRY.register(scheme) { Redis }
  end
end
