# frozen_string_literal: true

# suites: store*
# quick

require "test_helper"
require "rails"
require "rails/generators"
require "generators/tiercel/install/install_generator"

# `bin/rails generate tiercel:install` on the configuration files of an application.
class InstallGeneratorTest < Tiercel::TestCase
  PRODUCTION = "config/environments/production.rb"
  DEVELOPMENT = "config/environments/development.rb"
  NOTHING = "Rails.application.configure do\n  config.eager_load = true\nend\n"
  # The statement of an application, and the statement in its place.
  REPLACED = {
    ":memory_store" => ':tiercel_store, "shared:"',
    ":null_store" => ':tiercel_store, "shared:"',
    ":solid_cache_store" => ':tiercel_store, "shared:", "sqlite:storage/tiercel.sqlite3"',
  }.freeze
  # Statements that stay.
  REFUSED = [
    ":memory_store, { size: 64.megabytes }", ":solid_cache_store, { shards: [:cache] }", ":litecache",
    ':redis_cache_store, { url: ENV["REDIS_URL"] }', ':redis_cache_store, { url: "redis://a", expires_in: 60 }',
    ":redis_cache_store",
    ':mem_cache_store, "a:1"', 'ENV["X"] ? :memory_store : :null_store', ":memory_store if ENV['X']",
    ":file_store, Rails.root.join('tmp')", "STORE", ":redis_cache_store,\n  { url: 'a' }",
  ].freeze

  def test_a_literal_statement_is_replaced_and_stays_as_a_comment
    REPLACED.each do |present, expected|
      in_application(present) do |root|
        generate(root)
        assert_equal [expected], statements(PRODUCTION), present
        after = File.read(PRODUCTION)
        assert_includes after, "  # config.cache_store = #{present}\n"
        generate(root)
        assert_equal after, File.read(PRODUCTION), "a second run changes nothing"
      end
    end
  end

  def test_no_method_replaces_one_of_rails
    generator = Tiercel::Generators::InstallGenerator
    own = generator.private_instance_methods(false) + generator.public_instance_methods(false)
    rails = Rails::Generators::Base
    assert_empty own & (rails.instance_methods + rails.private_instance_methods)
  end

  def test_every_other_statement_stays_and_the_line_to_paste_is_printed
    REFUSED.each do |present|
      in_application(present) do |root|
        before = File.read(PRODUCTION)
        error = assert_raises(Thor::Error, present) { generate(root) }
        assert_match(/config\.cache_store = :tiercel_store, "/, error.message)
        assert_equal before, File.read(PRODUCTION), present
      end
    end
  end

  def test_branches_and_another_file_make_it_unclear
    ["Rails.application.configure do\n  if ENV['X']\n    config.cache_store = :memory_store\n  end\nend\n", "", "x = (",
     "Rails.application.configure do\n  config.cache_store = :a\n  config.cache_store = :b\nend\n"].each do |text|
      in_application do |root|
        File.write(PRODUCTION, text)
        assert_raises(Thor::Error, text) { generate(root) }
        assert_equal text, File.read(PRODUCTION)
      end
    end
    in_application do |root|
      File.write("config/application.rb", "config.cache_store = :memory_store\n")
      assert_raises(Thor::Error) { generate(root) }
    end
  end

  def test_an_application_without_a_store_and_one_with_comments
    in_application do |root|
      File.write(PRODUCTION, NOTHING.sub("true", "true\n  # config.cache_store = :mem_cache_store"))
      generate(root)
      assert_equal [':tiercel_store, "shared:"'], statements(PRODUCTION)
    end
    in_application(":memory_store # as before é") do |root|
      generate(root)
      assert_equal [':tiercel_store, "shared:"'], statements(PRODUCTION)
    end
  end

  def test_a_url_replaces_any_literal_statement
    in_application(":redis_cache_store, { url: ENV['A'], expires_in: 60 }") do |root|
      generate(root, "--url=shared: redis://cache:6379/0")
      assert_equal [':tiercel_store, "shared:", "redis://cache:6379/0"'], statements(PRODUCTION)
    end
    in_application(":memory_store") do |root|
      assert_match(/ftp/, assert_raises(Thor::Error) { generate(root, "--url=ftp://a") }.message)
      assert_equal [":memory_store"], statements(PRODUCTION)
    end
  end

  def test_an_encrypted_solid_cache_stays
    { "config/cache.yml" => "production:\n  encrypt: true\n", PRODUCTION => nil }.each do |file, text|
      in_application(":solid_cache_store") do |root|
        text ||= File.read(file).sub("do\n", "do\n  config.solid_cache.encrypt = true\n")
        File.write(file, text)
        before = File.read(PRODUCTION)
        ["", "--url=redis://cache:6379/0"].each do |url|
          assert_match(/is encrypted/, assert_raises(Thor::Error) { generate(root, *url) }.message)
        end
        assert_equal before, File.read(PRODUCTION)
      end
    end
    in_application(":solid_cache_store") do |root|
      File.write("config/cache.yml", "# encrypt: true\nproduction:\n  encrypt: false\n")
      generate(root)
      assert_equal [REPLACED[":solid_cache_store"]], statements(PRODUCTION)
    end
  end

  def test_development_gets_tags_and_a_null_store_in_tests_stays
    in_application(":memory_store") do |root|
      File.write(DEVELOPMENT, File.read(PRODUCTION))
      File.write("config/environments/test.rb", File.read(PRODUCTION).sub(":memory", ":null"))
      before = File.read("config/environments/test.rb")
      page = File.read(File.expand_path("../../docs/getting-started.md", __dir__))
      assert_includes page, generate(root).lines.grep(/changed/).join
      assert_equal [':tiercel_store, "memory:"'], statements(DEVELOPMENT)
      assert_equal before, File.read("config/environments/test.rb")
    end
  end

  private

  def in_application(store = nil)
    with_tmpdir do |root|
      Dir.chdir(root) do
        FileUtils.mkdir_p("config/environments")
        File.write(PRODUCTION, store ? NOTHING.sub("end\n", "  config.cache_store = #{store}\nend\n") : NOTHING)
        yield root
      end
    end
  end

  def statements(file) = File.read(file).scan(/^  config\.cache_store = (.*)$/).flatten

  def generate(root, *arguments)
    settings = { destination_root: root, shell: Thor::Shell::Basic.new }
    capture_io { Tiercel::Generators::InstallGenerator.new([], arguments.reject(&:empty?), settings).invoke_all }.first
  end
end
