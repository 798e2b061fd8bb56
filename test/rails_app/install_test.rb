# frozen_string_literal: true

require_relative "support"

# `bin/rails generate tiercel:install`, twice, and `destroy`, in an application.
class RailsAppInstallTest < RailsAppTest
  PRODUCTION = <<~'RUBY'
    Rails.application.configure do
      config.enable_reloading = false
      config.eager_load = true

      # Where fragments are kept.
      config.cache_store = :redis_cache_store, {
        url: ENV["CACHE_URL"], # of the server
        read_timeout: 0.2, reconnect_attempts: 1,

        pool: { size: 3 }, namespace: "shop"
      }
    end
  RUBY
  HELPER = <<~RUBY
    module ActiveSupport
      class TestCase
        parallelize(workers: 2)
      end
    end
  RUBY
  FILES = %w[config/environments/production.rb config/environments/test.rb test/test_helper.rb Gemfile .dockerignore
             .gitignore config/tiercel.md].freeze

  def files(app) = FILES.to_h { |name| [name, app.read(name)] }

  def generate(app, *options) = out(app.rails("generate", "tiercel:install", *options, env: { "CACHE_URL" => URL }))

  URL = "redis://127.0.0.1:1/0"

  def test_in_place_of_redis_cache_store
    with_app do |app|
      app.write("config/environments/production.rb", PRODUCTION)
      app.write("Gemfile", "gem \"rails\"\ngem('redis-client')\n")
      app.write("test/test_helper.rb", app.read("test/test_helper.rb") + HELPER)
      before = files(app)
      said = generate(app)
      after = files(app)
      assert_match(/reconnect_attempts: dropped/, said)
      assert_match(/Run `bundle install`/, said)
      assert_includes after["Gemfile"], %(gem "hiredis-client"\n)
      refute_match(/gem "redis-client/, after["Gemfile"], "it is there already")
      assert_includes after["config/tiercel.md"], "docs/failures.md"
      assert_includes after["test/test_helper.rb"], "setup { Rails.cache.clear }"
      assert_match(/identical.*production\.rb/, generate(app))
      assert_equal after, files(app), "a second run changes nothing"
      probe = 'puts Rails.cache.inspect, Rails.cache.options.slice(:namespace)'
      assert_match(%r{TiercelStore backend=redis://127.0.0.1:1.*namespace.*shop}m,
                   out(app.runner(probe, env: { "CACHE_URL" => URL })))
      out(app.rails("destroy", "tiercel:install", env: { "CACHE_URL" => URL }))
      assert_equal before, files(app)
    end
  end

  def test_in_an_application_as_rails_makes_it
    with_app do |app|
      app.cache_store = ":null_store"
      app.write("config/environments/production.rb", "Rails.application.configure do\nend\n")
      before = files(app)
      assert_match(/before each test: Rails\.cache\.clear/,
                   generate(app, "--url=sqlite:storage/cache.sqlite3", "--size=8MB", "--no-gems"))
      after = files(app)
      assert_equal before["Gemfile"], after["Gemfile"]
      assert_includes after["config/tiercel.md"], "`storage/cache.sqlite3`"
      assert_equal "backend=sqlite:#{File.realpath(app.folder)}/storage/cache.sqlite3 1",
                   out(app.runner('puts "#{Rails.cache.inspect[/backend=\S+/]} #{Rails.cache.increment("n")}"')).chomp
      out(app.rails("destroy", "tiercel:install", "--url=sqlite:storage/cache.sqlite3"))
      assert_equal before, files(app)
    end
  end

  def test_help_says_what_it_does
    with_app do |app|
      help = out(app.rails("generate", "tiercel:install", "--help"))
      %w[--url --size --test --gems --notes destroy].each { |word| assert_includes help, word }
    end
  end
end
