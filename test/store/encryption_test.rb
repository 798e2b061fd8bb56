# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache"
require "active_support/cache/tiercel_store"
require "redis-client"
require "tiercel/lab/servers"

# `encrypt:` on every backend: nothing that was cached is readable there, and everything else works as without it.
class EncryptionTest < Tiercel::TestCase
  Servers = Tiercel::Lab::Servers
  OLD, NEW = %w[old new].map { |name| name * 20 }
  SECRET = "4111-1111-1111-1111"

  # Yields urls, and a block that returns all bytes that the backend keeps outside of this process.
  PLACES = {
    memory: ->(_dir, &test) { test.call(["memory:"]) { "" } },
    shared: ->(dir, &test) { test.call(["shared:#{dir}/segment?size=8MB"]) { File.binread("#{dir}/segment") } },
    file: ->(dir, &test) { test.call(["file:#{dir}/files"]) { bytes_below("#{dir}/files") } },
    sqlite: ->(dir, &test) { test.call(["sqlite:#{dir}/c.sqlite3"]) { bytes_below(dir) } },
    tiers: lambda do |dir, &test|
      test.call(["shared:#{dir}/near?size=8MB", "sqlite:#{dir}/c.sqlite3"]) { bytes_below(dir) }
    end,
    redis: lambda do |_dir, &test|
      Servers::Redis.run do |server|
        client = RedisClient.new(url: server.url)
        client.call("CONFIG", "SET", "rdbcompression", "no")
        folder = client.call("CONFIG", "GET", "dir")["dir"]
        test.call(["#{server.url}?timeout=20"]) { client.call("SAVE") && File.binread("#{folder}/dump.rdb") }
      end
    end,
    memcached: lambda do |_dir, &test|
      Servers::Memcached.run do |server|
        backend = Tiercel.new("#{server.url}?timeout=20").backend
        test.call(["#{server.url}?timeout=20"]) { backend.get_multi(backend.scan.to_a).to_a.join }
      end
    end,
  }.freeze

  def self.bytes_below(dir)
    paths = Dir.glob("#{dir}/**/*", File::FNM_DOTMATCH).select { |path| File.file?(path) }
    paths.map { |path| File.binread(path) }.join
  end

  def build(urls, keys: [NEW], **options)
    encrypt = keys && { keys:, **options.slice(:accept_plain) }
    ActiveSupport::Cache.lookup_store(:tiercel_store, *urls, encrypt:, compress: false, **options.except(:accept_plain))
  end

  PLACES.each do |name, place|
    define_method(:"test_#{name}") do
      place.call(dir) do |urls, &bytes|
        store = build(urls)
        assert store.write_multi(Array.new(1_000) { |number| ["planted/#{number}", "#{number} #{SECRET}"] }.to_h)
        check_calls(store)
        refute_includes bytes.call, SECRET
        check_keys(urls, &bytes) unless name == :memory
      end
    end
  end

  def check_calls(store)
    value = { "card" => SECRET, "list" => [1, :two, nil] }
    assert store.write("plain", value)
    assert store.write("text", SECRET * 3, expires_in: 60)
    assert_equal [value, SECRET * 3], store.read_multi("plain", "text").values
    assert_equal value, store.read("plain")
    assert_equal SECRET, store.fetch("computed") { SECRET }
    assert_equal SECRET, store.fetch("computed") { flunk }
    assert_equal({ "a" => "a#{SECRET}", "b" => "b#{SECRET}" }, store.fetch_multi("a", "b") { |key| key + SECRET })
    assert_equal({ "a" => "a#{SECRET}", "b" => "b#{SECRET}" }, store.fetch_multi("a", "b") { flunk })
    assert store.write_multi({ "m1" => SECRET, "m2" => [SECRET] })
    assert_equal [SECRET], store.read("m2")
    assert_equal SECRET, store.fetch("tagged", tags: ["t"]) { SECRET }
    assert_equal SECRET, store.read("tagged")
    assert store.invalidate_tags("t")
    assert_nil store.read("tagged")
    assert store.write("versioned", SECRET, version: "1")
    assert_equal [SECRET, nil], [store.read("versioned", version: "1"), store.read("versioned", version: "2")]
    assert_equal false, store.write("plain", "other", unless_exist: true)
    assert store.write("once", SECRET, unless_exist: true)
    assert_equal 3, store.increment("n", 3)
    assert store.write("number", 41)
    assert_equal 42, store.increment("number")
    assert store.write("stale", "old #{SECRET}", expires_in: 60, stale_while_revalidate: 600)
    travel(61) do
      fetched = store.fetch("stale", expires_in: 60, stale_while_revalidate: 600) { "new #{SECRET}" }
      assert_equal "new #{SECRET}", fetched
    end
    assert_equal({ found: true, value: SECRET }, { found: store.exist?("computed"), value: store.read("computed") })
    assert store.delete("computed")
    assert_nil store.read("computed")
  end

  def check_keys(urls, &bytes)
    old = build(urls, keys: [OLD])
    old.clear
    assert old.write("k", SECRET)
    assert_equal SECRET, build(urls, keys: [NEW, OLD]).read("k"), "keys rotate without a cold cache"
    new = build(urls, keys: [NEW])
    reports = capture_reports { 3.times { assert_nil new.read("k") } }
    assert_equal 1, reports.size, "one report a minute, not one a call"
    assert_equal "fresh", without_reports { new.fetch("k") { "fresh" } }
    plain = build(urls, keys: nil)
    assert plain.write("p", SECRET)
    assert_includes bytes.call, SECRET, "an unencrypted value can be seen there"
    assert_nil without_reports { new.read("p") }
    assert_equal SECRET, build(urls, accept_plain: true).read("p")
    assert new.write("moved", SECRET)
    bytes = new.backend.get("moved") and new.backend.set("elsewhere", bytes)
    assert_nil without_reports { new.read("elsewhere") }
  end

  def near_copies_of_tagged_entries(store)
    store.write("tagged", SECRET, tags: %w[one two])
    2.times { store.fetch("tagged", tags: %w[one two]) { flunk } }
    tiers = []
    watch = ->(*, payload) { tiers << payload[:tier] }
    ActiveSupport::Notifications.subscribed(watch, "cache_read.active_support") do
      assert_equal [SECRET] * 2, [store.read("tagged"), store.fetch("tagged", tags: %w[one two]) { flunk }]
    end
    assert_equal %w[shared: shared:], tiers.map { |tier| tier[0, 7] }
    assert store.invalidate_tags("two")
    assert_nil store.read("tagged")
  end

  def test_a_near_copy_of_an_encrypted_entry_answers
    zlib = { compress: true, compressor: :zlib, compress_threshold: 100 }
    [{ compress: false }, zlib].each_with_index do |options, at|
      store = ActiveSupport::Cache.lookup_store(:tiercel_store, "shared:#{dir}/near#{at}?size=8MB",
                                                "sqlite:#{dir}/#{at}.sqlite3", encrypt: { keys: [NEW] }, **options)
      store.write("k", SECRET * 50)
      tiers = []
      watch = ->(*, payload) { tiers << payload[:tier] }
      ActiveSupport::Notifications.subscribed(watch, "cache_read.active_support") do
        2.times { assert_equal SECRET * 50, store.read("k") }
      end
      assert_match(/\Ashared:/, tiers.last)
      refute_includes File.binread("#{dir}/near#{at}"), SECRET
      near_copies_of_tagged_entries(store)
    end
  end

  def test_accepting_plain_entries_is_logged
    log = StringIO.new
    previous = ActiveSupport::Cache::Store.logger
    ActiveSupport::Cache::Store.logger = Logger.new(log)
    build(["memory:"])
    assert_empty log.string
    build(["memory:"], accept_plain: true)
    assert_match(/accept_plain: true: memory: also returns entries that nobody has encrypted/, log.string)
  ensure
    ActiveSupport::Cache::Store.logger = previous
  end

  def test_a_coder_of_ones_own_cannot_be_encrypted
    error = assert_raises(Tiercel::ConfigurationError) { build(["memory:"], coder: Marshal) }
    assert_match(/encrypt: and coder: contradict/, error.message)
  end

  def test_the_keys_of_active_record
    require "active_record"
    [["first" * 8], %w[first second].map { |name| name * 8 }].each do |primary_key|
      ActiveRecord::Encryption.configure(primary_key:, deterministic_key: "d" * 32, key_derivation_salt: "salt" * 8)
      store = ActiveSupport::Cache.lookup_store(:tiercel_store, "file:#{dir}/cache", encrypt: true)
      assert_equal SECRET, store.fetch("k") { primary_key.one? ? SECRET : flunk }
    end
  end
end
