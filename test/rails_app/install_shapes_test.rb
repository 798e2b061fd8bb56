# frozen_string_literal: true

require_relative "support"

# `bin/rails generate tiercel:install` in many kinds of applications. Either the application boots with the result,
# even in an asset build, or the generator writes nothing and gives the reason.
class RailsAppInstallShapesTest < RailsAppTest
  PRODUCTION = "config/environments/production.rb"
  # The file that `rails new` creates in Rails 8.
  CACHE_YML = <<~YAML
    default: &default
      store_options:
        # Cap age of oldest cache entry to fulfill retention policies
        max_age: <%= 60.days.to_i %>
        max_size: <%= 64.megabytes %>
        namespace: <%= Rails.env %>

    development:
      <<: *default

    production:
      database: cache
      <<: *default
  YAML
  DATABASE_YML = <<~YAML
    default: &default
      adapter: sqlite3
      timeout: 5000

    test:
      <<: *default
      database: db/test.sqlite3

    production:
      primary:
        <<: *default
        database: db/production.sqlite3
      cache:
        adapter: <%= ENV.fetch("CACHE_ADAPTER", "sqlite3") %>
        database: storage/production_cache.sqlite3
        migrations_paths: db/cache_migrate
  YAML

  def production(lines)
    "require \"active_support/core_ext/integer/time\"\n\nRails.application.configure do\n" \
      "  config.enable_reloading = false\n#{lines.gsub(/^(?=.)/, "  ")}end\n"
  end

  # Runs outside production, like a developer's command.
  def generate(app, *options, env: {})
    app.rails("generate", "tiercel:install", *options, env: { "RAILS_ENV" => "test", **env })
  end

  # Boots like Rails' Dockerfile for `assets:precompile`, without the application's environment variables.
  def asset_build(app)
    env = { "SECRET_KEY_BASE" => nil, "SECRET_KEY_BASE_DUMMY" => "1", "REDIS_URL" => nil, "CACHE_STORE" => nil }
    out(app.runner('puts Rails.cache.class, Rails.cache.inspect', env:))
  end

  # @return [Array<String>] the statements that replaced the stores in the file
  def mounted(app)
    app.read(PRODUCTION).lines.grep(/cache_store =/).reject { |line| line.include?("# was:") }.map(&:strip)
  end

  def assert_boots(app, env: {})
    assert_match(/TiercelStore/, asset_build(app))
    assert_match(/TiercelStore/, out(app.runner("Rails.cache.write('a', 1); puts Rails.cache.inspect", env:)))
  end

  SHAPES = {
    'config.cache_store = :redis_cache_store, { url: ENV["CACHE_URL"], error_handler: lambda { |method:, returning:, ' \
    "exception:|\n  warn(method)\n} }\n" => /ENV.fetch\("CACHE_URL", "redis:/,
    'config.cache_store = :redis_cache_store, { url: Rails.application.credentials.dig(:redis, :url) }' \
    "\n" => /credentials/,
    "config.cache_store = :mem_cache_store,\n  (ENV[\"M\"] || \"\").split(\",\"), { failover: true }\n" =>
      /memcached.*join/,
    "config.cache_store = :mem_cache_store, [\"a:1\", \"b:2\"], { expires_in: 1.hour } # two\n" =>
      /memcached:..a:1,b:2"/,
    "config.cache_store = ENV[\"R\"] ? [:redis_cache_store, { url: ENV[\"R\"] }] : :null_store\n" => nil,
    "config.cache_store = :redis_cache_store, { url: [\"redis://a\", \"redis://b\"] }\n" => nil,
    "if ENV[\"R\"]\n  config.cache_store = :redis_cache_store, { url: ENV.fetch(\"R\") }\nelse\n" \
    "  config.cache_store = :memory_store, { size: 8.megabytes }\nend\n" => /shared:/,
    "# config.cache_store = :mem_cache_store\n" => /:tiercel_store\z/,
    "config.cache_store = :file_store, Rails.root.join(\"tmp/cache\").to_s\n" => /file:/,
  }.freeze

  def test_what_it_writes_boots_in_an_asset_build_too
    with_app do |app|
      SHAPES.each do |lines, expected|
        app.write(PRODUCTION, before = production(lines))
        said = out(generate(app, "--no-test", "--no-notes", "--no-gems", "--no-development"))
        if expected
          assert(mounted(app).any? { |line| line.match?(expected) }, app.read(PRODUCTION))
          assert_boots(app)
        else
          assert_match(/stays/, said)
          assert_equal before, app.read(PRODUCTION)
        end
      end
    end
  end

  (RailsApp::LINES - ["8.1"]).each do |line|
    define_method("test_on_rails_#{line.tr(".", "_")}") do
      with_app(line) do |app|
        app.write(PRODUCTION, production("config.cache_store = :redis_cache_store, { url: ENV[\"CACHE_URL\"] }\n"))
        out(generate(app, "--no-test"))
        assert_boots(app)
        refute_predicate generate(app.tap { app.write(PRODUCTION, production(REFUSED.keys.last.first)) }), :ok?
      end
    end
  end

  REFUSED = {
    ["config.cache_store = :memory_store\n", "--url=redis://localhost", "--size=1GB"] => /--size works with shared:/,
    ["config.cache_store = :memory_store\n", "--url=redis//localhost"] => /backend URL "redis..localhost"/,
    ["config.cache_store = :memory_store\n", "--size=many"] => /size: expected bytes/,
    ["config.cache_store = :redis_cache_store, { url: ENV.fetch(\"CACHE_URL\") }\n"] => /KeyError.*CACHE_URL.*\.rb:\d/,
    ["config.cache_store = :redis_cache_store, { url: URLS }\nURLS = []\n"] => /NameError/,
    ["config.cache_store = :redis_cache_store, { url: \"redis://a:port\" }\n"] => /port/,
  }.freeze

  def test_in_a_locale_without_an_encoding
    with_app do |app|
      app.write(PRODUCTION, production("config.cache_store = :file_store, \"tmp/caf\u00e9\"\n"))
      out(generate(app, env: { "LC_ALL" => "C" }))
      assert_equal ["config.cache_store = :tiercel_store, \"file:tmp/caf\u00e9\""], mounted(app)
    end
  end

  def test_it_refuses_what_does_not_boot_and_changes_nothing
    with_app do |app|
      REFUSED.each do |(lines, *options), reason|
        app.write(PRODUCTION, production(lines))
        before = Dir.glob(app.path("{config,test}/**/*")).select { |path| File.file?(path) } + [app.path("Gemfile")]
        texts = before.select { |path| File.file?(path) }.to_h { |path| [path, File.binread(path)] }
        ran = generate(app, *options)
        refute_predicate ran, :ok?
        assert_match(/changed nothing\. .*#{reason}/m, ran.err)
        assert_equal(texts, texts.to_h { |path, _| [path, File.binread(path)] })
        refute_path_exists app.path("config/tiercel.md")
      end
      app.write(PRODUCTION, production(REFUSED.keys[3].first))
      out(generate(app, env: { "CACHE_URL" => "redis://127.0.0.1:1" }))
      assert_equal ['config.cache_store = :tiercel_store, ENV.fetch("CACHE_URL")'], mounted(app)
    end
  end

  # Runs the generator with its arguments as if the file could not be written.
  def generate_beside_locked(app, file, *arguments)
    app.runner(<<~RUBY)
      require "rails/generators"
      require "generators/tiercel/install/install_generator"
      def File.writable?(path) = !path.end_with?("/#{file}")
      Tiercel::Generators::InstallGenerator.start(#{arguments}, destination_root: Rails.root.to_s)
    RUBY
  end

  def test_it_refuses_files_that_it_cannot_change_before_it_changes_one
    with_app do |app|
      app.write(PRODUCTION, before = production("config.cache_store = :memory_store\n"))
      app.write(".gitignore", "caf\xE9\n".b)
      assert_match(/changed nothing. No right to write .gitignore/, generate_beside_locked(app, ".gitignore").err)
      assert_match(/changed nothing. Not in UTF-8: .gitignore/, generate(app).err)
      assert_equal before, app.read(PRODUCTION)
    end
  end

  def test_a_file_that_an_option_leaves_alone_may_be_locked
    with_app do |app|
      app.write(PRODUCTION, production("config.cache_store = :memory_store\n"))
      out(generate_beside_locked(app, "environments/test.rb", "--no-test"))
      assert_equal ["config.cache_store = :tiercel_store"], mounted(app)
    end
  end

  def test_it_refuses_a_gem_that_it_can_add_to_no_gemfile
    with_app do |app|
      app.write(PRODUCTION, before = production("config.cache_store = :memory_store\n"))
      ran = generate(app, "--url=redis+cluster://127.0.0.1:1")
      assert_match(/changed nothing\. .*redis-cluster-client/m, ran.err)
      assert_equal before, app.read(PRODUCTION)
    end
  end

  def test_it_refuses_a_folder_without_a_file_for_production
    with_app do |app|
      File.delete(app.path(PRODUCTION))
      before = app.read("config/environments/test.rb")
      ran = generate(app)
      refute_predicate ran, :ok?
      assert_match(/changed nothing\. There is no config.environments.production\.rb/, ran.err)
      assert_equal before, app.read("config/environments/test.rb")
      refute_path_exists app.path("config/tiercel.md")
    end
  end

  def solid_cache(app, adapter: nil)
    app.write(PRODUCTION, production("config.cache_store = :solid_cache_store\n"))
    app.write("config/cache.yml", CACHE_YML)
    app.write("config/database.yml", DATABASE_YML)
    { "CACHE_STORE" => "solid_cache_store", "CACHE_ADAPTER" => adapter }
  end

  def test_solid_cache_as_rails_makes_it
    with_app do |app|
      env = solid_cache(app)
      app.write("config/deploy.yml", "servers:\n  web:\n    - 10.0.0.1\n    - 10.0.0.2\n")
      app.write("Gemfile", "gem \"rails\"\ngem \"sqlite3\", \">= 2.1\"\n")
      said = out(generate(app, env:))
      refute_match(/dropped/, said)
      refute_match(/bundle install/, said, "the Gemfile has every gem already")
      assert_match(/deploy.yml has 2 hosts, and each .* --url=redis:/, said)
      statement = app.read(PRODUCTION)[/:tiercel_store, .*?\n(?= *# was)/m]
      ['"shared:", "sqlite:storage/cache.sqlite3?size=64MB"', "expires_in: 60 * 86_400", 'namespace: "production"']
        .each { |part| assert_includes statement, part }
      assert_boots(app)
      assert_includes app.read(".dockerignore") + app.read("config/tiercel.md"), "storage/cache.sqlite3"
    end
  end

  def test_a_solid_cache_that_machines_share_stays_unless_a_url_is_given
    with_app do |app|
      env = solid_cache(app, adapter: "trilogy")
      said = out(generate(app, "--no-gems", env:))
      assert_match(/MySQL.*another cache on each machine.*--url=redis:/, said)
      assert_equal ["config.cache_store = :solid_cache_store"], mounted(app)
      out(app.rails("destroy", "tiercel:install"))
      said = out(generate(app, "--url=redis://cache:6379/0", "--no-gems", env:))
      assert_match(/max_size: dropped/, said)
      written = app.read(PRODUCTION)[/:tiercel.*\n.*\n.*\n/]
      assert_match(/tiercel_store, "redis:.*expires_in: 60 \* 86_400.*production/m, written)
    end
  end

  def test_development_has_tags_and_tests_in_threads_are_left
    with_app do |app|
      app.write(PRODUCTION, production("config.cache_store = :memory_store\n"))
      app.write("config/environments/development.rb", development = <<~RUBY)
        Rails.application.configure do
          if Rails.root.join("tmp/caching-dev.txt").exist?
            config.cache_store = :memory_store
          else
            config.cache_store = :null_store
          end
        end
      RUBY
      app.write("test/test_helper.rb", helper = app.read("test/test_helper.rb") + <<~RUBY)
        class ActiveSupport::TestCase
          parallelize(workers: 2, with: :threads)
        end
      RUBY
      said = out(generate(app))
      assert_match(/parallel threads/, said)
      assert_equal helper, app.read("test/test_helper.rb")
      assert_match(/:tiercel_store, "memory:"\n/, app.read("config/environments/development.rb"))
      assert_includes app.read("config/environments/development.rb"), "    config.cache_store = :null_store"
      out(app.rails("destroy", "tiercel:install"))
      assert_equal development, app.read("config/environments/development.rb")
    end
  end
end
