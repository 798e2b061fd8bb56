# frozen_string_literal: true

# Loaded before Rails' own tests of views: every MemoryStore and FileStore that they build is Tiercel's.

require "active_support"
require "active_support/cache"
require "tiercel"
require "active_support/cache/tiercel_store"

ENV["PARALLEL_WORKERS"] = "1"
mounted = Module.new do
  def lookup_store(store = nil, *parameters)
    kind, *_, options = [*Array(store), *parameters]
    return super unless %i[memory_store file_store].include?(kind)
    Tiercel.new("memory:", **(options.is_a?(Hash) ? options : {}))
  end
end
ActiveSupport::Cache.singleton_class.prepend(mounted)

# Some tests make a subclass, which Tiercel cannot take the place of.
ActiveSupport::Cache::MemoryStore.define_singleton_method(:new) do |options = {}, **more|
  equal?(ActiveSupport::Cache::MemoryStore) ? Tiercel.new("memory:", **options, **more) : super(options, **more)
end

ActiveSupport.on_load(:action_view) { Tiercel::Fragments.install }
