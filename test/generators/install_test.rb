# frozen_string_literal: true
# suites: kernel

require "test_helper"
require "erb"
require "generators/tiercel/install/present_store"
require "generators/tiercel/install/successor"

# What `tiercel:install` reads and writes; test/rails_app/install_test.rb runs it in an application.
class InstallTest < Tiercel::TestCase
  # What an application has, and what is to stand there.
  SUCCESSORS = {
    ":memory_store" => ":tiercel_store",
    ":memory_store, { size: 64.megabytes }" => ':tiercel_store, "shared:", { size: 64.megabytes }',
    ":null_store" => ":tiercel_store",
    ":solid_cache_store" => ':tiercel_store, "shared:", "sqlite:storage/cache.sqlite3?size=256MB"',
    ':file_store, "/var/cache/app"' => ':tiercel_store, "file:/var/cache/app"',
    ':file_store, Rails.root.join("tmp/cache")' => ':tiercel_store, "file:#{Rails.root.join("tmp/cache")}"',
    ":file_store" => ':tiercel_store, "file:tmp/cache"',
    ":redis_cache_store" => ':tiercel_store, ENV.fetch("REDIS_URL", "redis://localhost:6379/0")',
    ':redis_cache_store, { url: ENV["CACHE"] }' => ':tiercel_store, ENV.fetch("CACHE")',
    ":redis_cache_store, { url: ENV.fetch('CACHE') { 'redis://a' } }" =>
      ":tiercel_store, ENV.fetch('CACHE') { 'redis://a' }",
    ':redis_cache_store, { url: "rediss://a:1/0", namespace: "n", expires_in: 90.minutes, connect_timeout: 5 }' =>
      ':tiercel_store, "rediss://a:1/0", { namespace: "n", expires_in: 90.minutes }',
    ':mem_cache_store, "a:1", "b:2", { socket_timeout: 0.5, failover: false }' =>
      ':tiercel_store, "memcached://a:1,b:2", { timeout: 0.5 }',
    ':mem_cache_store, ENV["SERVERS"]' => ':tiercel_store, "memcached://#{ENV.fetch("SERVERS")}"',
    ":mem_cache_store" => ':tiercel_store, "memcached://#{ENV.fetch("MEMCACHE_SERVERS", "localhost:11211")}"',
  }.freeze

  # What stays, since nobody can say what would stand for it.
  STAYING = [":litecache, { path: 'x' }", "ActiveSupport::Cache::MemoryStore.new", ":tiercel_store, 'memory:'",
             ":redis_cache_store, { url: ['redis://a', 'redis://b'] }", ":redis_cache_store, { redis: POOL }"].freeze

  def environment(store) = "Rails.application.configure do\n  config.cache_store = #{store}\n  config.x = 1\nend\n"

  def present(store) = Tiercel::Generators::PresentStore.in_text(environment(store))

  def successor(store, **options) = Tiercel::Generators::Successor.new(store && present(store), **options)

  SUCCESSORS.each do |store, ours|
    define_method("test_what_stands_for #{store}") do
      assert_equal "config.cache_store = #{ours}", successor(store).statement
    end
  end

  STAYING.each do |store|
    define_method("test_what_stays #{store}") { assert_nil successor(store).statement }
  end

  def test_what_stays_is_said_with_the_way_out
    assert_match(/:litecache.*--url/m, successor(":litecache").notes.join)
    assert_match(/several servers.*migrating/m, successor(":redis_cache_store, { url: ['a', 'b'] }").notes.join)
    assert_match(/reconnect_attempts: left out/, successor(":redis_cache_store, { reconnect_attempts: 1 }").notes.join)
  end

  def test_an_environment_without_a_store_gets_one
    text = "Rails.application.configure do\n  # config.cache_store = 1\nend"
    assert_nil Tiercel::Generators::PresentStore.in_text(text)
    assert_equal "config.cache_store = :tiercel_store", successor(nil).statement
  end

  def test_url_and_size_that_are_asked_for
    assert_equal 'config.cache_store = :tiercel_store, "sqlite:tmp/c", { size: "1GB" }',
                 successor(":litecache", url: "sqlite:tmp/c", size: "1GB").statement
    assert_equal 'config.cache_store = :tiercel_store, "shared:", { size: "1GB" }',
                 successor(":null_store", size: "1GB").statement
  end

  def test_the_size_of_solid_cache_is_kept
    yaml = "default: &default\n  store_options:\n    max_size: <%= 512.megabytes %>\n"
    assert_match(/cache.sqlite3\?size=512MB"\z/, successor(":solid_cache_store", solid_cache: yaml).statement)
    assert_match(/cache.sqlite3\?size=1GB"\z/, successor(":solid_cache_store", size: "1GB").statement)
    assert_match(%r{"sqlite:tmp/c", \{ size: "512MB" \}\z},
                 successor(":solid_cache_store", url: "sqlite:tmp/c", solid_cache: yaml).statement)
  end

  def test_the_successor_of_solid_cache_has_a_tier_in_memory_and_needs_room_there
    assert_predicate successor(":solid_cache_store"), :shared?
    refute_predicate successor(":solid_cache_store", url: "sqlite:tmp/c"), :shared?
    assert_predicate successor(nil), :shared?
  end

  def test_the_notes_say_what_each_tier_needs
    template = File.read(File.expand_path("../../lib/generators/tiercel/install/templates/tiercel.md.tt", __dir__))
    headings = {
      ":solid_cache_store" => ["Room in /dev/shm", "Where it lies"], ":memory_store" => ["Room in /dev/shm"],
      ":file_store" => ["Where it lies"], ":redis_cache_store" => ["The server"]
    }
    headings.each do |store, expected|
      text = ERB.new(template, trim_mode: "-").result_with_hash(successor: successor(store))
      assert_equal [*expected, "What it is doing"], text.scan(/^## (.*)/).flatten
      refute_match(/\n{3}/, text)
    end
  end

  def test_the_gems_that_go_with_it
    assert_empty successor(nil).gems
    assert_equal %w[redis-client hiredis-client], successor(":redis_cache_store").gems.keys
    assert_equal %w[redis-client hiredis-client], successor(nil, url: "rediss://a").gems.keys
    assert_equal %w[dalli], successor(":mem_cache_store").gems.keys
    assert_equal %w[sqlite3], successor(":solid_cache_store").gems.keys
    assert_empty successor(":litecache").gems
  end

  def test_a_file_in_the_applications_folder
    assert_equal "storage/cache.sqlite3", successor(":solid_cache_store").path
    assert_nil successor(nil).path
    assert_nil successor(nil, url: "file:/var/cache").path
  end

  def test_what_was_written_is_undone_byte_for_byte
    SUCCESSORS.each_key do |store|
      [environment(store), environment("#{store} # mine"), environment("#{store}\n")].each do |text|
        changed = Tiercel::Generators::PresentStore.in_text(text).replaced_by("config.cache_store = :tiercel_store")
        assert_equal :tiercel_store, Tiercel::Generators::PresentStore.in_text(changed).kind
        assert_equal text, Tiercel::Generators::MarkedText.undone(changed)
      end
    end
  end

  def test_a_statement_of_several_lines_is_undone_byte_for_byte
    text = "if true\n\n    config.cache_store = :redis_cache_store, {\n      url: 1,\n\n      pool: {}\n    }\n\nend\n"
    changed = Tiercel::Generators::PresentStore.in_text(text).replaced_by("config.cache_store = 1")
    assert_equal text, Tiercel::Generators::MarkedText.undone(changed)
  end

  def test_what_is_not_alone_in_its_lines_is_left
    refute_predicate present(":a if ENV['X']"), :replaceable?
    refute_predicate present(":a; config.y = 1"), :replaceable?
    refute_predicate present(":a\n  config.cache_store = :b"), :replaceable?
    assert_predicate present(":a # why"), :replaceable?
  end
end
