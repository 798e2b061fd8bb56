# frozen_string_literal: true

require_relative "support"

# What every line of Rails has to do: boot, answer requests, run a runner and a task.
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
    end
  RUBY

  RailsApp::LINES.each do |line|
    define_method("test_an_application_on_rails_#{line.tr(".", "_")}") do
      with_app(line) do |app|
        with_tmpdir do |dir|
          app.cache_store = %(:tiercel_store, "shared:#{dir}/segment", { size: "16MB" })
          assert_equal "#{line}, 200 200 200 200 200, 50 articles, seen 2 times", out(app.runner(<<~'RUBY')).chomp
            browser = ActionDispatch::Integration::Session.new(Rails.application)
            paths = %w[/ /products/summaries /api/products /products/1 /search?q=amber]
            statuses = paths.map { |path| browser.get(path) }
            browser.get("/products/1")
            seen = browser.response.body[/Seen (\d+) times/, 1]
            browser.get("/")
            articles = browser.response.body.scan("<article").size
            puts "#{Rails.version[/\d+\.\d+/]}, #{statuses.join(" ")}, #{articles} articles, seen #{seen} times"
          RUBY
          assert_includes out(app.task("tiercel:segments:inspect[#{dir}/segment]")), "#{dir}/segment"
          app.write("test/pages_test.rb", PAGES_TEST)
          assert_match(/1 runs, 2 assertions, 0 failures/, out(app.rails("test", env: { "RAILS_ENV" => "test" })))
        end
      end
    end
  end
end
