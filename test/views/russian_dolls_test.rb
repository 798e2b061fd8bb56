# frozen_string_literal: true

# suites: store*

require_relative "support"
require "tiercel/lab/servers"

# Fragments within fragments: an outer one depends on everything that it shows, without `touch`.
class RussianDollsTest < ViewTest
  LEVELS = %i[shop shelf box product].freeze
  PAGE = LEVELS.reverse.inject("leaf") do |inner, level|
    "<% cache '#{level}', tags: ['#{level}'] do %><% rendering(:#{level}) %>(#{inner})<% end %>"
  end

  def test_four_levels_on_each_backend
    on_each_backend do |*urls|
      page = controller(store: Tiercel.new(*urls), "index" => PAGE)
      other = urls == ["memory:"] ? page.cache_store : Tiercel.new(*urls)
      2.times { assert_equal "((((leaf))))", get(page) }
      assert_equal LEVELS, rendered
      LEVELS.each_with_index do |level, depth|
        other.invalidate_tags(level.to_s)
        2.times { get(page) }
        assert_equal LEVELS[0..depth], rendered, "#{level} on #{urls.join(", ")}"
      end
    end
  end

  def test_fifty_siblings
    on_each_backend do |*urls|
      @products = Array.new(50) { |index| Product.new(index + 1, "name", 1) }
      products = @products
      text = "<% cache 'list' do %><% rendering(:list) %><% @products.each do |product| %>" \
             "<% cache [product, 'card'], tags: product do %><% rendering(product.id) %>x<% end %><% end %><% end %>"
      page = controller(store: Tiercel.new(*urls), "index" => text) { before_action { @products = products } }
      2.times { get(page) }
      assert_equal [:list, *1..50], rendered
      page.cache_store.invalidate_tags(products[17])
      2.times { get(page) }
      assert_equal [:list, 18], rendered
    end
  end

  def test_an_invalidation_of_the_inner_tag_while_the_outer_fragment_renders
    text = "<% cache 'outer' do %><% cache 'inner', tags: 'in' do %><%= rendering(:inner) %><% end %>" \
           "<%= rendering(:outer) %><% end %>"
    page = controller("index" => text)
    shown = "old"
    self.on_render = lambda do |what|
      next shown if what == :inner
      (shown = "new") && store.invalidate_tags("in") && nil
    end
    assert_equal "old", get(page)
    self.on_render = ->(what) { what == :inner ? shown : nil }
    assert_equal "new", get(page)
  end

  private

  def on_each_backend
    yield "memory:"
    with_tmpdir { |dir| yield "sqlite:#{dir}/a" }
    with_tmpdir { |dir| yield "file:#{dir}/a" }
    with_tmpdir { |dir| yield "shared:#{dir}/a?size=8MB" }
    with_tmpdir { |dir| yield "shared:#{dir}/a?size=8MB", "sqlite:#{dir}/b" }
    [Tiercel::Lab::Servers::Redis, Tiercel::Lab::Servers::Memcached].each do |kind|
      kind.run do |server|
        url = "#{server.url}?timeout=20"
        yield url
        Tiercel.new(url).clear
        with_tmpdir { |dir| yield "shared:#{dir}/a?size=8MB", url }
      end
    end
  end
end
