# frozen_string_literal: true

# suites: store*
# quick

require_relative "support"

# `render partial:, collection:, cached:`.
class CollectionsTest < ViewTest
  ITEM = "<i><% rendering(product.id) %><%= product.name %><%= product_counter %>/<%= product_iteration.size %></i>"

  def test_items_are_rendered_once_and_in_order
    page = listing
    assert_equal "<i>a0/3</i><i>b1/3</i><i>c2/3</i>", get(page)
    assert_equal [1, 2, 3], rendered
    @products = products(4, 2, 1, 5)
    assert_equal "<i>d0/2</i><i>b1/3</i><i>a0/3</i><i>e1/2</i>", get(page)
    assert_equal [4, 5], rendered
    @products = products(1, 5, 1)
    assert_equal "<i>a0/3</i><i>e1/2</i><i>a0/3</i>", get(page)
  end

  def test_the_events_and_the_entries_are_those_of_rails
    events = [Tiercel.new("memory:"), ActiveSupport::Cache::MemoryStore.new].map do |cache|
      seen = []
      page = listing(store: cache)
      pattern = /\A(cache_(read|write)_multi\.active_support|render_collection\.action_view)\z/
      subscriber = ActiveSupport::Notifications.subscribe(pattern) do |*event|
        seen << [event[0], event[4][:count], event[4][:cache_hits], event[4][:hits]&.size]
      end
      2.times { get(page) }
      @products = products(1, 2, 3, 4)
      get(page)
      @products = products(1, 2, 3)
      ActiveSupport::Notifications.unsubscribe(subscriber)
      seen
    end
    assert_equal events.last, events.first
  end

  def test_a_lambda_and_the_form_of_rails_8_2
    [-> (product) { [product, "en"] }, { key: ->(product) { [product, "en"] }, expires_in: 60 }].each do |cached|
      @cached = cached
      page = listing("<%= render partial: 'product', collection: @products, cached: @cached %>")
      2.times { get(page) }
      assert_equal [1, 2, 3], rendered
      get(listing)
      assert_equal [1, 2, 3], rendered, "other names"
      store.clear
    end
    2.times { get(listing("<%= render partial: 'product', collection: @products, cached: { expires_in: 60 } %>")) }
    assert_equal [1, 2, 3], rendered
    travel(61) { get(listing) }
    assert_equal [1, 2, 3], rendered
  end

  def test_tags_of_each_item
    @cached = { tags: ->(product) { [product, "shop:#{product.id % 2}"] } }
    page = listing("<%= render partial: 'product', collection: @products, cached: @cached %>")
    2.times { get(page) }
    assert_equal [1, 2, 3], rendered
    store.invalidate_tags(products(2).first)
    get(page)
    assert_equal [2], rendered
    store.invalidate_tags("shop:1")
    get(page)
    assert_equal [1, 3], rendered
    @cached = { tags: ["shop"] }
    store.clear
    2.times { get(page) }
    store.invalidate_tags("shop")
    get(page)
    assert_equal [1, 2, 3] * 2, rendered
  end

  def test_an_expiry_of_each_item
    @cached = { expires_in: ->(product) { product.id * 60 } }
    page = listing("<%= render partial: 'product', collection: @products, cached: @cached %>")
    2.times { get(page) }
    assert_equal [1, 2, 3], rendered
    travel(61) { get(page) }
    assert_equal [1], rendered
  end

  def test_an_invalidation_while_an_item_is_rendered
    @cached = { tags: ->(product) { [product] } }
    page = listing("<%= render partial: 'product', collection: @products, cached: @cached %>",
                   "_product" => "<%= rendering(product.id) %>")
    self.on_render = ->(id) { store.invalidate_tags(products(3).first) && "old#{id}" }
    assert_equal "old1old2old3", get(page)
    self.on_render = ->(id) { "new#{id}" }
    assert_equal "old1old2new3", get(page)
  end

  def test_an_item_that_raises
    page = listing("<%= render partial: 'product', collection: @products, cached: true %>",
                   "_product" => "<%= rendering(product.id) %>")
    self.on_render = ->(id) { id == 2 ? raise(IOError, "broken") : "x" }
    assert_kind_of IOError, assert_raises(ActionView::Template::Error) { get(page) }.cause
    self.on_render = ->(_) { "y" }
    assert_match(/[xy]yy/, get(page))
  end

  def test_items_of_another_caller_are_waited_for_after_the_own_ones
    inside = Queue.new
    leave = Queue.new
    order = Queue.new
    self.on_render = lambda do |id|
      order << [Thread.current[:who], id]
      (inside << 1) && leave.pop if Thread.current[:who] == :first
      nil
    end
    @products = products(1)
    page = listing
    one = Thread.new { (Thread.current[:who] = :first) && get(page) }
    inside.pop
    @products = products(1, 2, 3)
    two = Thread.new { (Thread.current[:who] = :second) && get(page) }
    wait_until("the second has rendered its own items") { order.size == 3 }
    assert_predicate two, :alive?
    leave << 1
    assert_equal "<i>a0/1</i>", one.value
    assert_equal %w[a b c], two.value.scan(/[abc]/)
    assert_equal [[:first, 1], [:second, 2], [:second, 3]], Array.new(3) { order.pop }
  ensure
    9.times { leave << 1 }
  end

  # Four callers, 40 of 50 items missing. A rendering takes one tick; the clock ticks once each caller renders, waits or
  # has returned.
  def test_no_call_waits_longer_than_its_own_rendering_plus_one_others
    all = Array.new(50) { |index| Product.new(index + 1, "n", 1) }
    @products = all.first(10)
    page = listing
    get(page)
    @products = all
    rendering = Queue.new
    own = Hash.new(0)
    returned = {}
    ticks = 0
    self.on_render = lambda do |_|
      own[Thread.current] += 1
      rendering << (gate = Queue.new)
      gate.pop && nil
    end
    callers = Array.new(4) { Thread.new { get(page) && returned[Thread.current] = ticks } }
    until returned.size == callers.size
      wait_until("each caller to render, wait or return") do
        rendering.size + store.stats[:followers] + returned.size == callers.size
      end
      rendering.size.times { rendering.pop << true }
      ticks += 1
    end
    assert_equal 40, own.values.sum
    callers.each do |caller|
      others = own.except(caller).values.max
      assert_operator returned[caller], :<=, own[caller] + others, "#{own.values}, returned at #{returned.values}"
    end
  ensure
    callers&.each(&:kill)
  end

  private

  def setup
    super
    @products = products(1, 2, 3)
    @caches = []
  end

  def teardown
    ActionView::PartialRenderer.collection_cache = ActiveSupport::Cache::MemoryStore.new
    super
  end

  def products(*ids) = ids.map { |id| Product.new(id, ("a".."z").to_a[id - 1], 1) }

  def listing(text = "<%= render partial: 'product', collection: @products, cached: true %>",
              store: self.store, **templates)
    test = self
    ActionView::PartialRenderer.collection_cache = store
    controller(store:, "index" => text, "_product" => ITEM, **templates) do
      before_action do
        @products = test.instance_variable_get(:@products)
        @cached = test.instance_variable_get(:@cached)
      end
    end
  end
end
