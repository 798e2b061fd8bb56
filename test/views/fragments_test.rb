# frozen_string_literal: true

# suites: store*
# quick

require_relative "support"
require "minitest/mock"

# `cache` in a view.
class FragmentsTest < ViewTest
  PAGE = { "index" => "<p><% cache 'box', @options || {} do %><% rendering %>" \
                      "<b>é &amp; <%= @text || '<' %></b><% end %></p>" }.freeze

  def test_a_fragment_is_rendered_once_and_then_read
    page = controller(**PAGE)
    2.times { assert_equal "<p><b>é &amp; &lt;</b></p>", get(page).force_encoding("UTF-8") }
    assert_equal [:page], rendered
    assert_equal 1, store.stats[:misses]
  end

  def test_threads_that_miss_at_the_same_time_render_once
    inside = Queue.new
    leave = Queue.new
    self.on_render = ->(_) { (inside << 1) && leave.pop && nil }
    page = controller(**PAGE)
    callers = Array.new(20) { Thread.new { get(page) } }
    inside.pop
    wait_until("all others wait") { callers.count { |thread| thread.status == "sleep" } == 20 }
    assert_empty inside
    leave << 1
    assert_equal 1, callers.map(&:value).uniq.size
  ensure
    20.times { leave << 1 }
  end

  def test_the_key_the_events_and_the_value_are_those_of_rails
    events = [Tiercel.new("memory:"), ActiveSupport::Cache::MemoryStore.new].map do |cache|
      seen = []
      page = controller(**PAGE, store: cache)
      subscriber = ActiveSupport::Notifications.subscribe(/\A(read|write)_fragment\.action_controller/) do |*event|
        seen << [event[0], event[4].except(:request)]
      end
      2.times { get(page) }
      ActiveSupport::Notifications.unsubscribe(subscriber)
      key = seen.first.last.fetch(:key)
      assert_equal "<b>é &amp; &lt;</b>", cache.read(key)
      refute_instance_of ActiveSupport::SafeBuffer, cache.read(key)
      seen.map do |name, payload|
        [name, payload.merge(key: payload[:key].flatten.map { |part| part.to_s.sub(/:\h+/, "") })]
      end
    end
    assert_equal(%w[read write read], events.first.map { |name, _| name[/\A[a-z]+/] })
    assert_equal events.last, events.first
  end

  def test_the_event_of_the_write_follows_the_write
    order = []
    self.on_render = ->(_) { (order << "render") && nil }
    page = controller(**PAGE)
    listener = Object.new
    listener.define_singleton_method(:start) { |name, *| order << "#{name[/\A\w+/]} begins" }
    listener.define_singleton_method(:finish) { |name, *| order << "#{name[/\A\w+/]} ends" }
    subscriber = ActiveSupport::Notifications.subscribe(/fragment\.action_controller|cache_write/, listener)
    get(page)
    assert_equal ["read_fragment begins", "read_fragment ends", "render", "cache_write begins", "cache_write ends",
                  "write_fragment begins", "write_fragment ends"], order
  ensure
    ActiveSupport::Notifications.unsubscribe(subscriber)
  end

  def test_a_fragment_within_one_of_the_same_key
    page = controller("index" => "<% cache 'box' do %>1<% cache 'box' do %>2<% end %>3<% end %>")
    assert_equal %w[123] * 3, Array.new(3) { get(page) }
  end

  def test_nothing_that_other_code_stored_breaks_a_view
    page = controller(**PAGE)
    get(page)
    key = store.backend.scan.first
    [nil, false].each do |value|
      store.write(key, value)
      assert_equal "<p><b>é &amp; &lt;</b></p>", get(page).force_encoding("UTF-8")
    end
  end

  def test_a_controller_that_overrides_how_fragments_are_read_and_written
    seen = [store, ActiveSupport::Cache::MemoryStore.new].map do |cache|
      page = controller(store: cache, "index" => "<% cache 'box' do %><%= rendering %><% end %>") do
        singleton_class.attr_accessor(:anew)
        def read_fragment(*) = self.class.anew ? nil : super
        def write_fragment(name, content, *) = super(name, "#{content}!", *)
      end
      %w[a b c].each_with_index.map do |text, index|
        self.on_render = ->(_) { text }
        page.anew = index == 1
        get(page)
      end
    end
    assert_equal [%w[a! b! b!]] * 2, seen
  end

  def test_a_decorator_of_the_store_sees_every_read_and_write
    tenant = Class.new(SimpleDelegator) do
      def read(name, *) = super([name, "tenant"], *)
      def write(name, value, *) = super([name, "tenant"], value, *)
    end
    page = controller(**PAGE, store: tenant.new(store))
    2.times { get(page) }
    assert_equal [:page], rendered
    assert_equal ["tenant"], store.backend.scan.map { |key| key[/\w+\z/] }
  end

  def test_an_invalidation_and_a_deletion_while_it_renders
    key = nil
    page = controller("index" => "<% cache 'box', tags: ['shop'] do %><%= rendering %><% end %>")
    subscriber = ActiveSupport::Notifications.subscribe("read_fragment.action_controller") do |*event|
      key = event[4][:key]
    end
    changes = [-> { store.invalidate_tags("shop") }, -> { store.delete(key) }, -> { store.clear }]
    changes.each_with_index do |change, index|
      self.on_render = ->(_) { [change.call, "old #{index}"].last }
      assert_equal "old #{index}", get(page)
      self.on_render = ->(_) { "new #{index}" }
      assert_equal "new #{index}", get(page), "after change #{index}"
      store.clear
    end
  ensure
    ActiveSupport::Notifications.unsubscribe(subscriber)
  end

  def test_stale_windows
    page = controller("index" => "<% cache 'box', expires_in: 10, stale_while_revalidate: 60, " \
                                 "stale_if_error: 600 do %>" \
                                 "<%= rendering %><% end %>")
    self.on_render = ->(_) { "first" }
    get(page)
    travel(20) do
      inside = Queue.new
      leave = Queue.new
      self.on_render = ->(_) { inside << 1; leave.pop }
      renewing = Thread.new { get(page) }
      inside.pop
      assert_equal "first", get(page), "the others get the stale fragment"
      leave << "second"
      assert_equal "second", renewing.value
      assert_equal "second", get(page)
    end
    travel(60) do
      self.on_render = ->(_) { raise "broken" }
      assert_equal "second", capture_reports { @body = get(page) } && @body
    end
  end

  def test_a_view_renders_in_its_own_request
    cache = Tiercel.new("memory:", refresh: :background, stale_while_revalidate: 60)
    page = controller(store: cache, "index" => "<% cache 'box', expires_in: 10 do %><%= rendering %><% end %>")
    self.on_render = ->(_) { "first" }
    get(page)
    threads = []
    self.on_render = ->(_) { (threads << Thread.current) && "second" }
    travel(20) { assert_equal "second", get(page) }
    assert_equal [Thread.current], threads
  end

  def test_a_block_that_raises_or_throws_stores_nothing
    page = controller("index" => "<% cache 'box' do %><%= rendering %><% end %>")
    self.on_render = ->(_) { raise IOError, "broken" }
    assert_kind_of IOError, assert_raises(ActionView::Template::Error) { get(page) }.cause
    self.on_render = ->(_) { throw :out, 1 }
    assert_equal(1, catch(:out) { get(page) && nil })
    self.on_render = ->(_) { "well" }
    assert_equal "well", get(page)
  end

  def test_a_layout_a_stream_and_a_live_action
    templates = PAGE.merge("layouts/site" =>
                             "<html><%= yield %><% cache('foot') { %><% rendering(:foot) %>f<% } %></html>")
    page = controller("page" => PAGE["index"], "layouts/site" => templates["layouts/site"]) do
      def index = render(action: "page", layout: "site")
      def streamed = render(action: "page", layout: "site", stream: true)
    end
    2.times { assert_equal "<html><p><b>é &amp; &lt;</b></p>f</html>", get(page).force_encoding("UTF-8") }
    assert_equal %i[page foot], rendered
    store.clear
    streamed = get(page, :streamed).force_encoding("UTF-8")
    assert_includes streamed, "<b>é &amp; &lt;</b>"
    live = controller(**templates.slice("layouts/site"), "page" => PAGE["index"]) do
      include ActionController::Live
      def index
        response.stream.write(render_to_string(action: "page", layout: false))
      ensure
        response.stream.close
      end
    end
    assert_includes get(live).force_encoding("UTF-8"), "<b>é"
  end
end
