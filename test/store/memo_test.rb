# frozen_string_literal: true
# suites: store*

require "test_helper"
require "open3"
require "active_support/cache/tiercel_store"
require "active_support/core_ext/string/output_safety"

# Typical calls of applications and views that the memo serves, with its default and Strings of 24 KB.
class StoreMemoTest < Tiercel::TestCase
  def test_a_bare_process_keeps_frozen_values
    library = File.expand_path("../../lib", __dir__)
    script = 'require "tiercel"; store = Tiercel.new("memory:", frozen: true); store.write("a", [1, "b"]); ' \
             '3.times { store.read("a") }; print store.read("a"), store.stats[:memo_entries]'
    output, = Open3.capture2e(RbConfig.ruby, "-I#{library}", "-e", script)
    assert_equal '[1, "b"]1', output
  end

  TEXT = ("é" * 12_000).freeze
  SafeBuffer = ActiveSupport::SafeBuffer
  Record = Struct.new(:cache_key, :cache_version)

  CALLS = {
    "a namespace" => ->(store) { store.read("key", namespace: "other") },
    "a Symbol as namespace" => ->(store) { store.fetch("key", namespace: :other) { "missed" } },
    "a namespace and an end" => ->(store) { store.fetch("key", namespace: "other", expires_in: 60) { "missed" } },
    "several in a namespace" => ->(store) { store.read_multi("key", namespace: "other")["key"] },
    "fetch_multi in a namespace" => ->(store) { store.fetch_multi("key", namespace: "other") { "missed" }["key"] },
    "a fragment" => ->(store) { store.read([:views, "products/_card:0a1b", Record.new("products/1", "7")]) },
    "a fragment with an end" => ->(store) { store.read(["views/x", Record.new("products/1", "7")], expires_in: 60) },
    "a collection of fragments" => lambda { |store|
      names = Array.new(3) { |number| ["views", "products/_card:0a1b", Record.new("products/#{number}", "7")] }
      store.read_multi(*names).values_at(names[1]).first
    },
    "tags" => ->(store) { store.fetch("tagged", tags: %w[one two]) { "missed" } },
    "tags, read" => ->(store) { store.read("tagged") },
    "tags, several" => ->(store) { store.read_multi("tagged")["tagged"] },
  }.freeze

  def test_calls_that_are_served
    CALLS.each do |name, call|
      store = filled
      values = Array.new(8) { call.call(store) }
      assert_equal [[TEXT, false]], values.map { |value| [value, value.frozen?] }.uniq, name
      assert_operator store.stats[:memo_hits], :>=, 4, name
      values.last << "mine"
      assert_equal TEXT, call.call(store), name
    end
  end

  def test_safe_buffers
    store = Tiercel.new("memory:")
    store.write("safe", SafeBuffer.new(TEXT))
    store.write("tagged", SafeBuffer.new(TEXT), tags: %w[one])
    unsafe = SafeBuffer.new(TEXT)
    unsafe.gsub!("x", "y")
    store.write("unsafe", unsafe)
    { "safe" => true, "tagged" => true, "unsafe" => false }.each do |key, safe|
      before = store.stats[:memo_hits]
      8.times do
        value = store.read(key)
        assert_equal [SafeBuffer, safe, TEXT, false], [value.class, value.html_safe?, value.to_str, value.frozen?]
        value << "<b>" # escaped where it is safe
        value.instance_variable_set(:@mine, true)
      end
      assert_equal SafeBuffer.new(TEXT).html_safe?, store.read_multi("safe")["safe"].html_safe?
      assert_operator store.stats[:memo_hits] - before, :>=, 4, key
      assert_nil store.read(key).instance_variable_get(:@mine)
    end
    store.write("noted", SafeBuffer.new(TEXT).tap { |buffer| buffer.instance_variable_set(:@notes, []) })
    8.times { assert_equal [1], store.read("noted").instance_variable_get(:@notes) << 1 }
  end

  def test_tags_that_are_invalidated
    with_tmpdir do |directory|
      stores = Array.new(2) { Tiercel.new("shared:#{directory}/segment?size=32MB") }
      { "plain" => TEXT, "safe" => SafeBuffer.new(TEXT), "versioned" => TEXT }.each do |key, value|
        options = key == "versioned" ? { version: "1" } : {}
        20.times do |round|
          stores[round % 2].write(key, value, tags: %w[one two three], **options)
          6.times { stores.each { |store| assert_equal TEXT, store.read(key, **options)&.to_str, key } }
          stores[round / 2 % 2].invalidate_tags(%w[one two three][round % 3])
          stores.each { |store| assert_nil store.read(key), key }
          assert_equal "new", stores[round % 2].fetch(key, tags: %w[one], **options) { "new" }
        end
      end
      assert_operator stores.sum { |store| store.stats[:memo_hits] }, :>, 100
    ensure
      stores&.each(&:close)
    end
  end

  private

  def filled
    store = Tiercel.new("memory:")
    store.write("key", TEXT, namespace: "other")
    store.write("tagged", TEXT, tags: %w[one two])
    3.times do |number|
      store.write(["views", "products/_card:0a1b", Record.new("products/#{number}", "7")], TEXT)
      store.write(["views/x", Record.new("products/#{number}", "7")], TEXT)
    end
    store
  end
end
