# frozen_string_literal: true

# Fragments and cached collections of views, rendered once among all threads and processes (docs/caching-views.md).
#
# With Rails' helpers alone, each caller that misses renders, because they read, render and write. With this module a
# hit is still Rails' own code, but a miss goes to {TiercelStore#fetch_missing}. One caller takes the lease and renders;
# the others wait for the result or get the stale fragment. Views of controllers with another cache store keep Rails'
# own code.
module Tiercel::Fragments
  # @return [void]
  def self.install
    ActionView::Helpers::CacheHelper.prepend(Fragment)
    ActionView::PartialRenderer.prepend(Collection)
    return unless Gem.loaded_specs.key?("jbuilder")
    require "jbuilder/jbuilder_template"
    JbuilderTemplate.prepend(Json)
  end

  # A decorator of a store (SimpleDelegator) has these methods too, but expects every call of `read` and `write`.
  #
  # @private
  # @return [Boolean] whether fragments in this store are rendered by `fetch`
  def self.serve?(store)
    ::Tiercel.store_loaded? && ::Tiercel::Store::Hooks === store
  end

  # Returns whether fragments are read and written by Rails' own methods. A controller may override them, for example to
  # render every fragment anew.
  #
  # @private
  # @return [Boolean]
  def self.unchanged?(controller)
    %i[read_fragment write_fragment].all? do |name|
      controller.public_method(name).owner.equal?(AbstractController::Caching::Fragments)
    end
  end

  # `cache` in a view: {ActionView::Helpers::CacheHelper#cache} calls this when `read_fragment` has found nothing.
  module Fragment
    private

    def write_fragment_for(name, options, &block)
      store = controller.cache_store if controller.respond_to?(:cache_store)
      return super unless Tiercel::Fragments.serve?(store) && Tiercel::Fragments.unchanged?(controller)
      key = controller.combined_fragment_cache_key(name)
      rendered = nil
      found = store.fetch_missing(key, options) do
        rendered = output_buffer.capture(&block)
        rendered.to_str
      end
      if rendered
        controller.instrument_fragment_cache(:write_fragment, key) { rendered }
      else
        found.is_a?(String) ? found.html_safe : found || super # Rails renders if other code has stored nil
      end
    end
  end

  # `render partial:, collection:, cached:`. Each missing item has its own lease; the caller takes the leases of a few
  # items before it renders them. At the end, the caller waits for the items whose leases other callers hold.
  module Collection
    # Replaces the collection in the renderer, which asks for the size and enumerates. The items come from inside
    # {TiercelStore#fetch_multi_missing}, so an item is rendered while its lease is held.
    class MissingItems
      # @param items [#each_with_info] Rails' iterator over the missing items
      # @param names [Array] their names in the cache
      # @yieldparam render [Proc] renders the item of a name
      def initialize(items, names, &fetch)
        @items = items
        @names = names
        @fetch = fetch
      end

      def size = @names.size

      def each_with_info(&render)
        return enum_for(:each_with_info) unless render
        infos = @names.zip(@items.each_with_info.to_a).to_h
        @fetch.call(->(name) { render.call(*infos[name]) })
      end
    end
    # Options of `cached:` that may be lambdas, called with each missing item.
    OF_ITEM = %i[tags expires_in expires_at].freeze
    private_constant :MissingItems, :OF_ITEM

    private

    def cache_collection_render(payload, view, template, collection)
      store = collection_cache
      return super unless will_cache?(@options, view) && Tiercel::Fragments.serve?(store)
      settings = @options[:cached].is_a?(Hash) ? @options[:cached] : { key: @options[:cached] }
      names, items = named_items(view, template, collection, settings[:key])
      of_item, options = settings.except(:key).partition { |name, value| callable_for_item?(name, value) }.map(&:to_h)
      found = store.read_multi(*items.keys, options)
      payload[:cache_hits] = found.size
      templates = found.transform_values { |body| build_rendered_template(body, template) }
      if found.size < items.size
        missing = items.except(*found.keys)
        yield(MissingItems.new(collection.from_collection(missing.values), missing.keys) do |render|
          templates.update(render_missing(store, missing, options, of_item, template, render))
        end)
      end
      names.map { |name| templates[name] }
    end

    # The renderer builds the template of an item in its enumeration, which returns nothing to {MissingItems}.
    def build_rendered_template(content, template) = @built = super

    # @return [Array(Array<Object>, Hash{Object => Object})] the names in their order, possibly with duplicates; the
    #   items by name
    def named_items(view, template, collection, seed)
      seed = nil unless seed.respond_to?(:call)
      digest_path = view.digest_path_from_template(template)
      collection.preload! if seed
      items = {}
      names = collection.map do |item|
        name = view.cache_fragment_name(seed ? seed.call(item) : item, digest_path:)
        name = view.combined_fragment_cache_key(name)
        items[name] = item
        name
      end
      [names, items]
    end

    def callable_for_item?(name, value) = OF_ITEM.include?(name) && value.respond_to?(:call)

    # @param of_item [Hash{Symbol => #call}] options that depend on the item
    def render_missing(store, items, options, of_item, template, render)
      rendered = {}
      bodies = store.fetch_multi_missing(*items.keys, options) do |name, write_options|
        of_item.each { |option, value| write_options.public_send(:"#{option}=", value.call(items[name])) }
        render.call(name)
        rendered[name] = @built
        @built.body.respond_to?(:to_str) ? @built.body.to_str : @built.body
      end
      bodies.to_h { |name, body| [name, rendered[name] || build_rendered_template(body, template)] }
    end
  end

  # `json.cache!`, `cache_if!` and `cache_root!` of jbuilder, which use `Rails.cache`. Their class is a BasicObject.
  module Json
    private

    def _write_fragment_cache(key, options = nil, &block)
      store = ::Rails.cache
      return super unless ::Tiercel::Fragments.serve?(store)
      @context.controller.instrument_fragment_cache(:write_fragment, key) do
        store.fetch_missing(key, options, &block)
      end
    end
  end
end
