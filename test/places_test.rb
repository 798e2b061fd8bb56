# frozen_string_literal: true
# suites: store*

require "test_helper"
require "minitest/mock"
require "active_support/cache/tiercel_store"
require_relative "support/memory_stub"

# Several URLs: allowed orders of tiers, and the assignment of options to backends.
class PlacesTest < Tiercel::TestCase
  include MemoryStub

  def teardown
    @stores&.each(&:close)
  end

  def build(*urls, **options)
    Tiercel.new(*urls, **options).tap { |store| (@stores ||= []) << store }
  end

  def shared(options = "size=1MB") = "shared:#{dir}/segment?#{options}"
  def files = "file:#{dir}/cache"

  def test_nearest_first
    store = build(shared, files)
    assert_equal ["shared:#{dir}/segment", files], store.backend.to_s.split(" > ")
    assert_equal true, store.write("key", "value")
    assert_equal "value", store.read("key")
    refute_nil store.backend.near.get("key")
    refute_nil store.backend.last.get("key")
    assert_kind_of Tiercel::Backends::File, store.backend.last
  end

  def refused(*urls, **options) = assert_raises(Tiercel::ConfigurationError) { build(*urls, **options) }.message

  def test_what_cannot_be_a_tier_there
    [[files, shared], %w[redis://127.0.0.1:1 redis://127.0.0.1:2], ["null:", files], [shared, "memory:"],
     %w[memory: null:], ["memory:", shared], ["memory:", shared, files]].each do |urls|
      assert_match(/> .*: expected memory: or shared: as the near tier, and one last tier.*"shared:\?memo=16MB"\z/,
                   refused(*urls))
    end
    assert_match(/size: expected at least 1 MB \(bytes, or a String such as "256MB"\), got "20KB"\z/,
                 refused("memory:?size=20KB", files))
  end

  def test_ttl_is_a_near_tiers
    assert_equal [1.0, 0.25], [build("memory:", files), build("memory:?ttl=0.25", files)].map { _1.backend.near.ttl }
    %w[0 -1 x NaN Infinity].each do |ttl|
      assert_match(/ttl: expected seconds \(a number > 0\)/, refused("memory:?ttl=#{ttl}", files))
    end
    assert_match(/unknown option :ttl for memory:/, refused("memory:?ttl=1"))
    assert_match(/unknown option :ttl for file:/, refused("memory:", "#{files}?ttl=1"))
    assert_match(/unknown option :ttl/, refused("memory:", files, ttl: 1))
  end

  def test_whose_an_option_is
    store = build(shared("size=2MB"), "#{files}?size=50MB", memo: "3MB")
    assert_equal [2 << 20, 3 << 20], store.backend.near.stats.values_at(:size_bytes, :memo_limit_bytes)
    assert_match(/size: both shared:.* and file:.*\?size=\.\.\./, refused(shared, files, size: "5MB"))
    assert_match(/unknown option :pool for shared:.* > file:/, refused(shared, files, pool: { size: 5 }))
    assert_match(/unknown option :pool for file:/, refused("memory:", "#{files}?pool=5"))
    assert_match(/unknown option :pool for memory:/, refused("memory:?pool=5", files))
  end

  # A segment with a name has a different file for each combination of farther tiers.
  def test_copies_are_of_one_place
    skip "no /dev/shm" unless File.writable?("/dev/shm")
    name = "tiercel-places-#{Process.pid}"
    others = %w[a b].map { |folder| "file:#{dir}/#{folder}" }
    stores = [["shared:#{name}?size=1MB"], *others.map { |url| ["shared:#{name}?size=1MB", url] }].map { build(*_1) }
    stores.each_with_index { |store, index| store.write("key", index) }
    assert_equal [0, 1, 2], stores.map { |store| store.read("key") }
    again = build("shared:#{name}", others.first)
    assert_equal stores[1].backend.near.to_s, again.backend.near.to_s
  ensure
    stores&.each(&:close)
    Dir.glob("/dev/shm/tiercel-#{name}-*").each { |path| File.delete(path) }
  end

  def test_each_database_and_namespace_has_its_copies
    skip "no /dev/shm" unless File.writable?("/dev/shm")
    name = "tiercel-places-#{Process.pid}"
    segment = lambda do |url, **options|
      store = build("shared:#{name}?size=1MB", url, **options)
      store.backend.near.to_s.tap { store.close }
    end
    nobody = "redis://127.0.0.1:1"
    assert_equal segment.call(nobody), segment.call("redis://:word@127.0.0.1:1")
    others = [{}, { db: 1 }, { namespace: "a" }, { namespace: "b" }].map { |options| segment.call(nobody, **options) }
    assert_equal 5, [*others, segment.call("redis://127.0.0.2:1")].uniq.size
  ensure
    Dir.glob("/dev/shm/tiercel-#{name}-*").each { |path| File.delete(path) }
  end

  def test_stats_of_each_tier
    store = build(shared, files)
    store.write("key", "value")
    3.times { store.read("key") }
    stats = store.stats
    assert_equal 1, stats[:entries]
    assert_equal ["shared:#{dir}/segment", files], stats[:tiers].keys
    assert_equal 3, stats[:tiers].values.first[:hits]
    assert_equal [1, 1], stats[:tiers].values.map { |tier| tier[:entries] }
  end

  def test_a_worker_of_tests_has_tiers_of_its_own
    urls = [shared, files]
    entered = fork_and_wait(1) do
      store = build(*urls)
      Tiercel::TestWorker.enter("7", empty: false)
      store.write("key", "value")
      [store.backend.to_s, store.read("key")]
    end
    assert_equal [["memory: > #{files}-7", "value"]], entered
  end

  def test_without_room_for_the_near_tier_the_notice_says_what_that_means
    said = []
    Tiercel::Reports.stub(:notice, ->(text) { said << text }) do
      with_free(dir, 1 << 20) do
        near = build(shared("size=8MB"), files, error_handler: ->(**) {})
        assert_equal true, near.write("key", "value")
        assert_equal "value", near.read("key")
        build(shared("size=8MB"), error_handler: ->(**) {}).read("key")
      end
    end
    assert_match(/Until then every read goes to the next tier; the creation is retried\z/, said.first)
    assert_match(/Until then every call is a miss; the creation is retried\z/, said.last)
    assert_equal 2, said.size
  end

  def test_a_ttl_as_keyword_is_told_where_it_belongs
    assert_match(/ttl: use `expires_in: SECONDS`; .* near tier's URL: "shared:\?ttl=30"/,
                 refused("memory:", files, ttl: 30))
  end

  def test_an_option_at_the_wrong_place_is_told_where_it_belongs
    assert_match(/bus: set it in the near tier's URL: "shared:\?bus=false"/, refused("memory:", files, bus: false))
    assert_match(/expires_in: the store's, and no backend's: give it as a keyword/,
                 refused("memory:", "#{files}?expires_in=5"))
  end
end
