# frozen_string_literal: true

# suites: store*

require_relative "support"
require "rails"
require "jbuilder"
require "tiercel/lab/servers"

# A change at any point of a rendering: no later request shows the old fragment.
class ViewChangesTest < ViewTest
  FRAGMENT = %w[read_fragment.action_controller cache_read.active_support cache_generate.active_support
                write_fragment.action_controller cache_write.active_support].freeze
  # A view with its templates and the events of a rendering.
  FORMS = {
    fragment: [{ "index" => "<% cache [@product, 'box'], tags: [@product] do %><% rendering(:start) %>" \
                            "<%= @data.first %><% rendering(:finish) %><% end %>" }, FRAGMENT],
    json: [{ "index.json.jbuilder" => "json.cache!([@product, 'box'], tags: [@product]) { rendering(:start); " \
                                      "json.name @data.first; rendering(:finish) }" }, FRAGMENT],
    collection: [{ "index" => "<%= render partial: 'product', collection: [@product], " \
                              "cached: { tags: ->(product) { product } } %>",
                   "_product" => "<% rendering(:start) %><%= @data.first %><% rendering(:finish) %>" },
                 %w[render_template.action_view render_collection.action_view cache_read_multi.active_support
                    cache_write_multi.active_support]]
  }.freeze

  def test_memory = assert_changes_are_seen("memory:")

  def test_sqlite
    with_tmpdir { |dir| assert_changes_are_seen("sqlite:#{dir}/a") }
  end

  def test_shared_before_sqlite
    with_tmpdir { |dir| assert_changes_are_seen("shared:#{dir}/s?size=8MB", "sqlite:#{dir}/a") }
  end

  def test_redis
    Tiercel::Lab::Servers::Redis.run { |server| assert_changes_are_seen("#{server.url}?timeout=20") }
  end

  def test_memcached
    Tiercel::Lab::Servers::Memcached.run { |server| assert_changes_are_seen("#{server.url}?timeout=20") }
  end

  private

  def assert_changes_are_seen(*urls) = FORMS.each { |form, (page, events)| assert_seen(urls, form, page, events) }

  # A rendering is stopped before and after each event, and in the block before and after it reads the data.
  def assert_seen(urls, form, page, events)
    points = [*events.product(%i[start finish]), %i[block start], %i[block finish]]
    mine = Tiercel.new(*urls)
    other = urls == ["memory:"] ? mine : Tiercel.new(*urls) # as another process does it
    reached = []
    page = page_of(form, page, mine)
    points.each do |point|
      changes(other).each do |name, change|
        [Product.new(1, "box", 1), Product.new(2, "box", 1)].each_with_index do |product, warm|
          mine.clear
          now = [+"old"]
          page.given = [product, now]
          warm == 1 && get(page) && mine.delete_multi(@names)
          at(point) do
            reached << point
            now[0] = "new"
            change.call(product)
          end
          get(page)
          assert_match(/new/, get(page), "#{name} at #{point.join(" ")} of a #{form} on #{urls.join(", ")}")
        end
      end
    end
    assert_empty points - reached, form
  end

  def changes(other)
    { invalidation: ->(product) { other.invalidate_tags(product) }, deletion: ->(_) { other.delete_multi(@names) },
      touch: ->(product) { product.updated_at += 1 } }
  end

  def page_of(form, templates, cache)
    ActionView::PartialRenderer.collection_cache = cache
    Rails.cache = cache
    controller(store: cache, **templates) do
      singleton_class.attr_accessor(:given)
      before_action { @product, @data = self.class.given }
    end
  end

  # Calls the block once, when a rendering reaches the point.
  def at(point, &change)
    name, edge = point
    once = lambda do
      change.tap { change = nil }&.call
    end
    self.on_render = name == :block ? ->(here) { here == edge ? once.call && nil : nil } : nil
    @heard&.each { |subscriber| ActiveSupport::Notifications.unsubscribe(subscriber) }
    names = /\A(read_fragment\.action_controller|cache_read_multi\.active_support)\z/
    @heard = [ActiveSupport::Notifications.subscribe(names) do |name, *, payload|
      @names = name.start_with?("read") ? [payload[:key]] : payload[:key]
    end]
    return if name == :block
    listener = Object.new
    listener.define_singleton_method(:start) { |*| once.call if edge == :start }
    listener.define_singleton_method(:finish) { |*| once.call if edge == :finish }
    @heard << ActiveSupport::Notifications.subscribe(name, listener)
  end

  def setup
    super
    Tiercel::Fragments.install
    ActionView::Template.register_template_handler(:jbuilder, JbuilderHandler)
    @rails_cache = Rails.cache
  end

  def teardown
    Rails.cache = @rails_cache
    ActionView::PartialRenderer.collection_cache = ActiveSupport::Cache::MemoryStore.new
    @heard&.each { |subscriber| ActiveSupport::Notifications.unsubscribe(subscriber) }
    super
  end
end
