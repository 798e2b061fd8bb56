# frozen_string_literal: true

require_relative "support"

# On every Rails version an application boots, answers requests, and runs a runner, a task and tests.
class RailsAppBootTest < RailsAppTest
  PAGES_TEST = <<~RUBY
    require "test_helper"

    class PagesTest < ActionDispatch::IntegrationTest
      setup { Product.any? || Rails.application.load_seed }

      test "a page of fragments is the same from the cache" do
        pages = Array.new(2) { get("/products") && response.body }
        assert_equal 1, pages.uniq.size
        assert_select "article", 50
      end

      test "ten fragments of 8 KB are rendered once" do
        Rails.cache.clear
        renders = Array.new(2) do
          count = 0
          counted = ->(*) { count += 1 }
          ActiveSupport::Notifications.subscribed(counted, "render_partial.action_view") { get("/products/guides") }
          count
        end
        assert_equal [10, 0], renders
        sizes = response.body.scan(%r{<section.*?</section>}m).map(&:bytesize)
        assert_equal 10, sizes.count { |size| size.between?(8_192, 9_216) }, sizes.inspect
      end
    end
  RUBY

  # Like agents that monitor an application: prepended after everything is loaded, and never removed.
  AGENT = <<~RUBY
    module Agent
      CALLS = Hash.new(0)
      %i[read fetch read_multi].each do |name|
        define_method(name) { |*arguments, **options, &block| CALLS[name] += 1; super(*arguments, **options, &block) }
      end
    end
    Rails.application.config.after_initialize { ActiveSupport::Cache::Store.prepend(Agent) } if ENV["AGENT"]
  RUBY

  # Prints the pages, and how often Rails' own methods ran for a second request.
  REQUESTS = <<~'RUBY'
    browser = ActionDispatch::Integration::Session.new(Rails.application)
    paths = %w[/ /products/summaries /api/products /products/1 /search?q=amber]
    statuses = paths.map { |path| browser.get(path) }
    own = Hash.new(0)
    store = ActiveSupport::Cache::Store
    trace = TracePoint.new(:call) { |call| own[call.method_id] += 1 if call.defined_class == store }
    trace.enable { paths.each { |path| browser.get(path) } }
    seen = Rails.cache.read_counter("views/1") rescue Rails.cache.read("views/1", raw: true)
    browser.get("/")
    puts "Rails #{Rails.version[/\d+\.\d+/]}: #{statuses.join(" ")}, #{browser.response.body.scan("<article").size} " \
         "articles, seen #{seen} times"
    puts "Rails' own: #{own.values_at(:read, :fetch, :read_multi, :fetch_multi).sum}"
    puts "agent: #{Agent::CALLS.slice(:read, :fetch, :read_multi).sort.inspect}"
  RUBY

  RailsApp::LINES.each do |line|
    define_method("test_an_application_on_rails_#{line.tr(".", "_")}") do
      with_app(line) do |app|
        with_tmpdir do |dir|
          app.cache_store = %(:tiercel_store, "shared:#{dir}/segment", { size: "16MB" })
          app.write("config/initializers/agent.rb", AGENT)
          plain = out(app.runner(REQUESTS))
          assert_match(/^Rails #{line}: 200 200 200 200 200, 50 articles, seen 2 times$/, plain)
          assert_match(/^Rails' own: 0$/, plain)
          watched = out(app.runner(REQUESTS, env: { "AGENT" => "1" }))
          assert_match(/^agent: \[\[:fetch, 42\], \[:read, 3\], \[:read_multi, 3\]\]$/, watched)
          assert_includes out(app.task("tiercel:segments:remove[#{dir}/segment]")), "Removed #{dir}/segment"
          app.write("test/pages_test.rb", PAGES_TEST)
          assert_match(/2 runs, 4 assertions, 0 failures/, out(app.rails("test", env: { "RAILS_ENV" => "test" })))
        end
      end
    end
  end

  # A URL from an environment variable that is not set.
  def test_a_mistake_in_the_configuration_ends_the_boot
    with_app do |app|
      app.cache_store = ':tiercel_store, ENV["THIS_IS_NOT_SET"]'
      ran = app.runner("puts 1")
      refute ran.ok?, ran.to_s
      assert_match(/URL nil: .*\(Tiercel::ConfigurationError\)/, ran.err)
    end
  end
end
