# frozen_string_literal: true

# suites: store*

require_relative "support"
require "tiercel/lab/servers"

# A change at any point of a rendering: no later request shows the old fragment.
class ViewChangesTest < ViewTest
  EVENTS = %w[read_fragment.action_controller cache_read.active_support cache_generate.active_support
              write_fragment.action_controller cache_write.active_support].freeze
  # Where a rendering is stopped: before and after each event, and in the block before and after it reads the data.
  POINTS = [*EVENTS.product(%i[start finish]), %i[block start], %i[block finish]].freeze
  PAGE = "<% cache [@product, 'box'], tags: [@product] do %><% rendering(:start) %>" \
         "<%= @data.first %><% rendering(:finish) %><% end %>"

  def test_memory = assert_changes_are_seen("memory:")

  def test_sqlite
    with_tmpdir { |dir| assert_changes_are_seen("sqlite:#{dir}/a") }
  end

  def test_shared_before_sqlite
    with_tmpdir { |dir| assert_changes_are_seen("shared:#{dir}/s?size=8MB", "sqlite:#{dir}/a") }
  end

  def test_redis
    Tiercel::Lab::Servers::Redis.run { |server| assert_changes_are_seen(server.url) }
  end

  def test_memcached
    Tiercel::Lab::Servers::Memcached.run { |server| assert_changes_are_seen(server.url) }
  end

  private

  def assert_changes_are_seen(*urls)
    mine = Tiercel.new(*urls)
    other = urls == ["memory:"] ? mine : Tiercel.new(*urls) # as another process does it
    reached = []
    POINTS.each do |point|
      changes(other).each do |name, change|
        [Product.new(1, "box", 1), Product.new(2, "box", 1)].each_with_index do |product, warm|
          mine.clear
          now = [+"old"]
          page = page_of(mine, product, now)
          warm == 1 && get(page) && mine.delete(@key)
          at(point) do
            reached << point
            now[0] = "new"
            change.call(product)
          end
          get(page)
          assert_equal "new", get(page), "#{name} at #{point.join(" ")} of #{urls.join(", ")}"
        end
      end
    end
    assert_empty POINTS - reached
  end

  def changes(other)
    { invalidation: ->(product) { other.invalidate_tags(product) }, deletion: ->(_) { other.delete(@key) },
      touch: ->(product) { product.updated_at += 1 } }
  end

  def page_of(cache, product, now)
    @page ||= controller(store: cache, "index" => PAGE) { before_action { @product, @data = self.class.given } }
    @page.singleton_class.attr_accessor(:given) unless @page.respond_to?(:given)
    @page.given = [product, now]
    @page
  end

  # Calls the block once, when a rendering reaches the point.
  def at(point, &change)
    name, edge = point
    once = lambda do
      change.tap { change = nil }&.call
    end
    self.on_render = name == :block ? ->(here) { here == edge ? once.call && nil : nil } : nil
    @heard&.each { |subscriber| ActiveSupport::Notifications.unsubscribe(subscriber) }
    key = ActiveSupport::Notifications.subscribe("read_fragment.action_controller") { |*event| @key = event[4][:key] }
    @heard = [key]
    return if name == :block
    listener = Object.new
    listener.define_singleton_method(:start) { |*| once.call if edge == :start }
    listener.define_singleton_method(:finish) { |*| once.call if edge == :finish }
    @heard << ActiveSupport::Notifications.subscribe(name, listener)
  end

  def teardown
    @heard&.each { |subscriber| ActiveSupport::Notifications.unsubscribe(subscriber) }
    super
  end
end
