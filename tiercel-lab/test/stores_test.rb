# frozen_string_literal: true

require_relative "support/lab_case"

class ContestantsTest < LabCase
  def parse(text) = Lab::Contestants.parse(text)

  def test_type_place_and_options
    contestant = parse("tiercel:shared:cache#compress=false,serializer=:message_pack,size=64MB,compress_threshold=1024")
    assert_equal "shared:cache", contestant.place
    assert_equal({ compress: false, serializer: :message_pack, size: "64MB", compress_threshold: 1024 },
                 contestant.options)
  end

  def test_a_name_and_a_url_of_the_users
    redis = parse("production=redis://10.0.0.7:6379/0")
    assert_equal ["production", "redis://10.0.0.7:6379/0", :remote, []],
                 [redis.name, redis.place, redis.medium, redis.servers]
    memcached = parse("near=memcached://127.0.0.1:11211,127.0.0.1:11212")
    assert_equal ["127.0.0.1:11211,127.0.0.1:11212", :loopback], [memcached.place, memcached.medium]
    assert memcached.foreign?
  end

  def test_a_url_of_tiercels_needs_no_type
    { "shared:" => "shared:", "mine=shared:app#size=64MB" => "shared:app", "memory:" => "memory:",
      "file:/tmp?size=1MB" => "file:/tmp?size=1MB",
      "sqlite:cache.sqlite3" => "sqlite:cache.sqlite3" }.each do |text, place|
      assert_instance_of Lab::Contestants::TiercelStore, parse(text), text
      assert_equal place, parse(text).place
    end
    assert_raises(Lab::UsageError) { parse("shared") }
  end

  def test_the_commands_of_the_readme
    readme = File.read(File.expand_path("../README.md", __dir__))
    stores = readme.scan(/^bundle exec tiercel-lab .*$/).flat_map { |line| line.scan(/--store (\S+)/) }.flatten
    refute_empty stores
    stores.each { |text| assert parse(text) }
  end

  # A busy machine must not turn a row into a timeout. The user's own option stays.
  def test_places_of_the_lab_are_waited_for
    context = Object.new
    def context.server(name) = { "url" => "#{name}://127.0.0.1:1" }
    def context.directory(name) = "/#{name}"
    def context.capacity_bytes = 7
    { "tiercel:redis:" => "redis://127.0.0.1:1?timeout=2", "tiercel:memcached:" => "memcached://127.0.0.1:1?timeout=2",
      "tiercel:sqlite:" => "sqlite:/disk/cache.sqlite?size=7&timeout=2",
      "tiercel:file:?size=8" => "file:/tmpfs?size=8&timeout=2",
      "tiercel:shared:" => "shared:/tmpfs/cache.shared?size=7",
      "tiercel:redis:?timeout=0.1" => "redis://127.0.0.1:1?timeout=0.1",
      "tiercel:redis:#timeout=0.1" => "redis://127.0.0.1:1", "tiercel:redis://far:6379" => "redis://far:6379",
      "tiercel:memory:?size=1MB" => "memory:?size=1MB" }.each do |text, url|
      assert_equal [url], parse(text).send(:located, context), text
    end
  end

  def test_tiers_are_urls_with_a_space_between
    context = Object.new
    def context.server(name) = { "url" => "#{name}://127.0.0.1:1/0" }
    def context.directory(name) = "/#{name}"
    def context.capacity_bytes = 7
    near = "shared:/tmpfs/cache.shared?size=7"
    { "tiercel:shared: redis:" => [near, "redis://127.0.0.1:1/0?timeout=2"],
      "tiercel:shared: > redis:" => [near, "redis://127.0.0.1:1/0?timeout=2"],
      "shared:?ttl=60 sqlite:#compress=false" => ["shared:/tmpfs/cache.shared?ttl=60&size=7",
                                                  "sqlite:/disk/cache.sqlite?size=7&timeout=2"],
      "memory: redis+cluster:" => ["memory:?size=7", "redis_cluster://127.0.0.1:1/0?timeout=2"] }
      .each { |text, urls| assert_equal urls, parse(text).send(:located, context), text }
    redis = parse("tiercel:shared: redis:")
    assert_equal [%i[redis], :loopback, false], [redis.servers, redis.medium, redis.foreign?]
    assert_equal [:disk, :wall], [parse("shared: sqlite:").medium, parse("shared: sqlite:").clock]
    assert_equal 'config.cache_store = :tiercel_store, "shared:", "sqlite:storage/cache.sqlite3"',
                 parse("shared: sqlite:").configuration
    %w[shared:>redis: shared:+sqlite: shared:app|redis://cache:6379 memory:>shared:].each do |text|
      message = assert_raises(Lab::UsageError) { parse(text) }.message
      assert_match(/with a space between.*'tiercel:shared: redis:'/, message)
    end
    assert parse("tiercel:redis+cluster://redis:6379,redis:6380")
  end

  # Otherwise a run would end with the exit code for wrong values.
  def test_a_memcached_of_the_users_that_does_not_answer_cannot_be_measured
    contestant = parse("mem_cache_store:127.0.0.1:1")
    contestant.load_gems
    before, Dalli.logger = Dalli.logger, Logger.new(nil)
    error = assert_raises(Lab::CannotRun) { contestant.build(nil) }
    assert_match(/127\.0\.0\.1:1 does not answer/, error.message)
  ensure
    Dalli.logger = before
  end

  def test_what_is_wrong_is_named
    assert_match(/"nonsense" is not known.*memory_store/, assert_raises(Lab::UsageError) { parse("nonsense") }.message)
    assert_match(/compress/, assert_raises(Lab::UsageError) { parse("memory_store#compress") }.message)
    assert_match(/such as tiercel:redis:$/, assert_raises(Lab::UsageError) { parse("tiercel:redis") }.message)
    assert_match(/expected TYPE/, assert_raises(Lab::UsageError) { parse("--what?") }.message)
    assert_match(/needs a --store of its own/, assert_raises(Lab::UsageError) { parse("memory_store,redis") }.message)
  end

  # Otherwise a plan would accept contestants that no run can build.
  def test_what_the_gem_would_refuse_is_refused
    { "tiercel:shared:#sizee=1MB" => /unknown option :sizee/, "tiercel:memory:?moed=2" => /unknown option :moed/,
      "tiercel:memory:#checksum=7" => /checksum: expected true or false/,
      "tiercel:redis: shared:" => /as the near tier/ }.each do |text, words|
      message = assert_raises(Lab::UsageError) { parse(text) }.message
      assert_match(/\Astore #{Regexp.escape(text.inspect)}: /, message)
      assert_match words, message
      assert_equal 2, lab("compare", "--store", text, "--plan").first
    end
  end

  def test_configuration_to_paste
    assert_equal "config.cache_store = :tiercel_store", parse("tiercel").configuration
    assert_equal 'config.cache_store = :tiercel_store, "redis://HOST:6379/0", { frozen: true }',
                 parse("tiercel:redis:#frozen=true").configuration
    assert_equal 'config.cache_store = :tiercel_store, "shared:?ttl=9", "sqlite:storage/cache.sqlite3?size=64MB"',
                 parse("shared:?ttl=9 sqlite:?size=64MB").configuration
    assert_equal 'config.cache_store = :tiercel_store, "file:/dev/shm/cache"', parse("tiercel:file:").configuration
    assert_equal 'config.cache_store = :mem_cache_store, "HOST:11211", { compress: false }',
                 parse("mem_cache_store#compress=false").configuration
  end

  # Otherwise an unmounted folder would be measured as the disk below it.
  def test_a_folder_of_the_users_is_there_and_is_not_made
    absent = File.join(dir, "absent")
    %W[file_store:#{absent} tiercel:file:#{absent} file:#{absent}?size=1MB tiercel:sqlite:#{absent}/x.sqlite3
       mine=sqlite:#{absent}/x.sqlite3 tiercel:shared:#{absent}/segment].each do |text|
      assert_match(absent_folder(absent), assert_raises(Lab::UsageError) { parse(text) }.message)
    end
    code, _out, err = lab("compare", "--store", "file:#{absent}")
    assert_equal 2, code
    assert_match absent_folder(absent), err
    refute_path_exists absent
    %W[file_store:#{dir} tiercel:file:#{dir} sqlite:#{dir}/x.sqlite3].each { |text| assert parse(text) }
  end

  def absent_folder(path) = /the folder #{Regexp.escape(path)} does not exist; create it/

  # The store and the client over the next release of dalli run in a bundle of their own.
  def test_dalli_of_its_repository_is_a_contestant
    bundles = %w[mem_cache_store_dalli_main dalli#version=main].map { |text| Lab::Contestants.parse(text).bundle }
    assert_equal ["dalli_main"], bundles.uniq
    assert_match(/git: .*dalli\.git/, File.read(File.join(Lab::Engine::Bundle::FOLDER, "dalli_main.gemfile")))
  end
end
