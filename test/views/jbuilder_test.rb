# frozen_string_literal: true

# suites: store*
# quick

require_relative "support"
require "rails"
require "jbuilder"

# jbuilder's `cache!`, `cache_if!`, `cache_root!` and cached collections.
class JbuilderTest < ViewTest
  def setup
    super
    Tiercel::Fragments.install
    ActionView::Template.register_template_handler(:jbuilder, JbuilderHandler)
    @rails_cache = Rails.cache
    Rails.cache = store
    ActionView::PartialRenderer.collection_cache = store
  end

  def teardown
    Rails.cache = @rails_cache
    ActionView::PartialRenderer.collection_cache = ActiveSupport::Cache::MemoryStore.new
    super
  end

  def test_a_block_is_rendered_once_among_threads
    inside = Queue.new
    leave = Queue.new
    self.on_render = ->(_) { (inside << 1) && leave.pop && nil }
    page = json("json.cache!('box', tags: ['shop']) { rendering; json.name 'é<' };" \
                "json.cache_if!(false, 'x') { json.other 1 }")
    callers = Array.new(5) { Thread.new { get(page) } }
    inside.pop
    wait_until("the others wait") { callers.all? { |thread| thread.status == "sleep" } }
    leave << 1
    assert_equal [{ "name" => "é<", "other" => 1 }], callers.map { |thread| JSON.parse(thread.value) }.uniq
    assert_equal 1, rendered.size
    self.on_render = nil
    get(page)
    assert_empty rendered
    store.invalidate_tags("shop")
    get(page)
    assert_equal 1, rendered.size
  ensure
    5.times { leave << 1 }
  end

  def test_the_root_and_an_error
    page = json("json.cache_root!('box') { rendering; json.name 1 }")
    2.times { assert_equal '{"name":1}', get(page) }
    assert_equal 1, rendered.size
    self.on_render = ->(_) { raise IOError, "broken" }
    assert_raises(ActionView::Template::Error) { get(json("json.cache!('other') { rendering }")) }
    self.on_render = nil
    assert_equal "{}", get(json("json.cache!('other') { rendering }")).sub("null", "{}")
  end

  def test_a_cached_collection
    @products = [Product.new(1, "a", 1), Product.new(2, "b", 1)]
    products = @products
    page = json("json.array! @products, partial: 'pages/product', as: :product, cached: true",
                "_product.json.jbuilder" => "rendering(product.id); json.id product.id; json.name product.name") do
      before_action { @products = products }
    end
    2.times { assert_equal [{ "id" => 1, "name" => "a" }, { "id" => 2, "name" => "b" }], JSON.parse(get(page)) }
    assert_equal [1, 2], rendered
    products << Product.new(3, "c", 1)
    assert_equal [1, 2, 3], JSON.parse(get(page)).pluck("id")
    assert_equal [3], rendered
  end

  private

  def json(text, **others, &) = controller("index.json.jbuilder" => text, **others, &)
end
