# frozen_string_literal: true
# suites: kernel

require "test_helper"
require "generators/tiercel/install/current_store"
require "generators/tiercel/install/successor"

# The lines that `tiercel:install` writes for each store; test/rails_app/install_test.rb runs it in applications.
class InstallTest < Tiercel::TestCase
  MEMCACHED_LIST = ':tiercel_store, "memcached://#{[ENV["M"].split(",")].join(",").presence || "localhost:11211"}"'
  # Lines of an application, and the lines that the generator writes for them.
  SUCCESSORS = {
    ":memory_store" => ":tiercel_store",
    ":memory_store, { size: 64.megabytes }" => ':tiercel_store, "shared:", { size: 64.megabytes }',
    ":null_store" => ":tiercel_store",
    ':file_store, "/var/cache/app"' => ':tiercel_store, "file:/var/cache/app"',
    ':file_store, Rails.root.join("tmp/cache")' => ':tiercel_store, "file:#{Rails.root.join("tmp/cache")}"',
    ":file_store" => ':tiercel_store, "file:tmp/cache"',
    ':file_store, "#{Rails.root}/tmp"' => ':tiercel_store, "file:#{Rails.root}/tmp"',
    ":redis_cache_store, { url: }" => ':tiercel_store, url || "redis://localhost:6379/0"',
    ":redis_cache_store" => ':tiercel_store, ENV.fetch("REDIS_URL", "redis://localhost:6379/0")',
    ':redis_cache_store, { url: ENV["CACHE"] }' =>
      ':tiercel_store, ENV.fetch("CACHE", "redis://localhost:6379/0")',
    ":redis_cache_store, { url: ENV.fetch('CACHE', nil) }" =>
      ':tiercel_store, ENV.fetch("CACHE", "redis://localhost:6379/0")',
    ':redis_cache_store, { url: ENV["A"] || ENV["B"] }' =>
      ':tiercel_store, ENV["A"] || ENV["B"] || "redis://localhost:6379/0"',
    ':redis_cache_store, { url: ENV["A"] || "redis://a" }' => ':tiercel_store, ENV["A"] || "redis://a"',
    ":redis_cache_store, { url: ENV['T'] ? ENV['A'] : ENV['B'] }" =>
      ":tiercel_store, (ENV['T'] ? ENV['A'] : ENV['B']) || \"redis://localhost:6379/0\"",
    ":redis_cache_store, { url: Rails.application.credentials.redis_url }" =>
      ':tiercel_store, Rails.application.credentials.redis_url || "redis://localhost:6379/0"',
    ":redis_cache_store, { url: ENV.fetch('CACHE') { 'redis://a' } }" =>
      ":tiercel_store, ENV.fetch('CACHE') { 'redis://a' }",
    ':redis_cache_store, { url: "rediss://a:1/0", namespace: "n", expires_in: 90.minutes, connect_timeout: 5 }' =>
      ':tiercel_store, "rediss://a:1/0", { namespace: "n", expires_in: 90.minutes }',
    ':redis_cache_store, { host: ENV["HOST"], port: 6380, db: 2, ssl: true }' =>
      ':tiercel_store, "rediss://#{ENV["HOST"]}:6380", { db: 2 }',
    ':redis_cache_store, { path: "/run/redis.sock" }' => ':tiercel_store, "unix:/run/redis.sock"',
    ':mem_cache_store, "a:1", "b:2", { socket_timeout: 0.5, failover: false }' =>
      ':tiercel_store, "memcached://a:1,b:2", { timeout: 0.5 }',
    ':mem_cache_store, ["a:1", "b:2"]' => ':tiercel_store, "memcached://a:1,b:2"',
    ':mem_cache_store, "/run/memcached.sock"' => ':tiercel_store, "memcached:/run/memcached.sock"',
    ':mem_cache_store, ENV["SERVERS"]' => ':tiercel_store, "memcached://#{ENV.fetch("SERVERS", "localhost:11211")}"',
    ':mem_cache_store, ENV["M"].split(",")' => MEMCACHED_LIST,
    ":mem_cache_store" => ':tiercel_store, "memcached://#{ENV.fetch("MEMCACHE_SERVERS", "localhost:11211")}"',
  }.freeze

  # Stores that stay, and the notes for the user.
  STAYING = {
    ":litecache, { path: 'x' }" => /:litecache.*--url/,
    "ActiveSupport::Cache::MemoryStore.new" => /an expression.*--url/,
    ":redis_cache_store, { url: ['redis://a', 'redis://b'] }" => /several servers.*migrating/,
    ":redis_cache_store, { url: %w[redis://a redis://b] }" => /several servers/,
    ":redis_cache_store, { redis: POOL }" => /a custom client/,
    ":redis_cache_store, { **OPTIONS }" => /come from elsewhere/,
    ":redis_cache_store, OPTIONS" => /several servers or a custom client/,
    ":mem_cache_store, 'a', { username: ENV['U'], password: ENV['P'] }" => /logs in to memcached/,
    ":mem_cache_store, 'u:p@a'" => /logs in to memcached/,
  }.freeze

  def environment(store) = "Rails.application.configure do\n  config.cache_store = #{store}\n  config.x = 1\nend\n"

  def present(store) = Tiercel::Generators::CurrentStore.all(environment(store)).first

  def successor(store, **options) = Tiercel::Generators::Successor.new(store && present(store), **options)

  SUCCESSORS.each do |store, ours|
    define_method("test_what_stands_for #{store}") do
      assert_equal "config.cache_store = #{ours}", successor(store).statement
    end
  end

  STAYING.each do |store, note|
    define_method("test_what_stays #{store}") do
      staying = successor(store)
      assert_nil staying.statement
      assert_match note, staying.notes.join
    end
  end

  def test_a_mounted_tiercel_store_stays
    staying = successor(":tiercel_store, 'memory:'")
    assert_nil staying.statement
    assert_empty staying.notes
  end

  def test_each_option_that_is_dropped_is_named
    options = "{ url: 'redis://a', reconnect_attempts: 1, write_timeout: 1, connect_timeout: 2, max_size: 3 }"
    notes = successor(":redis_cache_store, #{options}").notes
    assert_equal %w[connect_timeout max_size reconnect_attempts write_timeout],
                 notes.map { |note| note[/\A(\w+): dropped\. ./, 1] }.sort
  end

  def test_an_option_of_another_backend_is_dropped_with_the_backend
    assert_equal 'config.cache_store = :tiercel_store, "shared:", { namespace: "n" }',
                 successor(':redis_cache_store, { pool: { size: 5 }, namespace: "n" }', url: "shared:").statement
  end

  def test_url_and_size_that_are_asked_for
    assert_equal 'config.cache_store = :tiercel_store, "sqlite:tmp/c", { size: "1GB" }',
                 successor(":litecache", url: "sqlite:tmp/c", size: "1GB").statement
    assert_equal 'config.cache_store = :tiercel_store, "shared:", { size: "1GB" }',
                 successor(":null_store", size: "1GB").statement
    tiers = successor(":null_store", url: "shared: redis://a")
    assert_equal 'config.cache_store = :tiercel_store, "shared:", "redis://a"', tiers.statement
    assert_predicate tiers, :shared?
    assert_includes tiers.gems, "redis-client"
    assert_equal 'config.cache_store = :tiercel_store, "shared:", "sqlite:a?size=1GB"',
                 successor(":null_store", url: "shared: sqlite:a", size: "1GB").statement
  end

  def test_the_gems_that_go_with_it
    assert_empty successor(nil).gems
    assert_equal %w[redis-client hiredis-client], successor(":redis_cache_store").gems.keys
    assert_equal %w[redis-client hiredis-client], successor(nil, url: "rediss://a").gems.keys
    assert_equal %w[dalli], successor(":mem_cache_store").gems.keys
    assert_equal %w[sqlite3], successor(nil, url: "sqlite:a").gems.keys
    assert_empty successor(":litecache").gems
  end

  def test_a_file_in_the_applications_folder
    assert_equal "storage/cache.sqlite3", successor(nil, url: "sqlite:storage/cache.sqlite3").path
    assert_nil successor(nil).path
    assert_nil successor(nil, url: "file:/var/cache").path
  end

  def test_what_was_written_is_undone_byte_for_byte
    SUCCESSORS.each_key do |store|
      texts = [environment(store), environment("#{store} # mine"), environment("#{store}\n")]
      [*texts, texts.first.gsub("\n", "\r\n")].each do |text|
        changed = Tiercel::Generators::CurrentStore.all(text)[0].replaced_by("config.cache_store = :tiercel_store")
        assert_equal [:tiercel_store], Tiercel::Generators::CurrentStore.all(changed).map(&:kind)
        assert_equal text, Tiercel::Generators::MarkedText.undone(changed)
      end
    end
  end

  def test_a_statement_of_several_lines_is_undone_byte_for_byte
    text = "if true\n\n    config.cache_store = :redis_cache_store, {\n      url: 1,\n\n      pool: {}\n    }\n\nend\n"
    changed = Tiercel::Generators::CurrentStore.all(text)[0].replaced_by("config.cache_store = 1")
    assert_equal text, Tiercel::Generators::MarkedText.undone(changed)
  end

  def test_what_was_written_with_tabs_is_undone_byte_for_byte
    text = "Rails.application.configure do\n\tconfig.cache_store = :memory_store\nend\n"
    changed = Tiercel::Generators::CurrentStore.all(text)[0].replaced_by("config.cache_store = :tiercel_store")
    assert_equal text, Tiercel::Generators::MarkedText.undone(changed)
    assert_equal text.gsub("\n", "\r\n"), Tiercel::Generators::MarkedText.undone(changed.gsub("\n", "\r\n"))
  end

  def test_a_statement_outside_a_block_keeps_its_receiver
    store, = Tiercel::Generators::CurrentStore.all("Rails.application.config.cache_store = :memory_store\n")
    assert_includes store.replaced_by("config.cache_store = 1"), "\nRails.application.config.cache_store = 1\n"
  end

  def test_what_is_not_alone_in_its_lines_is_left
    refute_predicate present(":a; config.y = 1"), :replaceable?
    refute_predicate present(":a or raise"), :replaceable?
    assert_predicate present(":a if ENV['X']"), :replaceable?
    assert_predicate present(":a # why"), :replaceable?
  end
end
