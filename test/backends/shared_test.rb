# frozen_string_literal: true
# suites: kernel, store

require "test_helper"
require "tiercel/segment"

class SharedTest < Tiercel::TestCase
  include Tiercel::Contracts::BackendContract

  def teardown
    super
    @backend&.close
  end

  def build_backend(size: "16MB", **options)
    Tiercel::Backends::Shared.build(Tiercel::BackendURL.parse("shared:#{path}"), { size: size, **options })
  end

  def build_peer = build_backend

  # Encrypted and raw entries, and reads inside a block, take another way through the segment than plain ones.
  def test_every_kind_of_read_counts_its_hits_and_misses
    [{}, { encrypt: { keys: ["k" * 32] } }].each_with_index do |options, index|
      store = Tiercel.new("shared:#{path}#{index}", size: "4MB", **options)
      store.write_multi({ "one" => "1", "two" => [2] })
      store.write("raw", "3", raw: true)
      assert_equal([1, 0], counted(store) { store.read("two") })
      assert_equal([0, 1], counted(store) { store.read("absent") })
      assert_equal([2, 1], counted(store) { store.read_multi("one", "two", "absent") })
      assert_equal([1, 1], counted(store) { store.read_multi("raw", "absent", raw: true) })
      within = counted(store) { store.fetch("outer/#{index}") { store.read_multi("one", "two", "absent") } }
      assert_equal [2, 2], within
    ensure
      store&.close
    end
  end

  # Otherwise every booting worker would spend time on a scan, and the touched pages would count as its memory.
  def test_a_store_is_built_without_reading_the_entries
    backend = build_backend
    20_000.times { |index| backend.set("key#{index}", "x" * 600) }
    resident = fork_and_wait(1) do
      Tiercel.new("shared:#{path}")
      File.read("/proc/self/smaps")[/#{Regexp.escape(path)}$.*?^Rss: +(\d+) kB/m, 1].to_i
    end
    assert_operator resident.first, :<, 4 << 10, "kB of 16 MB"
  end

  def test_options_that_cannot_be
    { size: "1KB", memo: "1KB" }.each do |name, value|
      error = assert_raises(Tiercel::ConfigurationError, name) { build_backend(**{ name => value }) }
      assert_match(/\A#{name}: expected/, error.message)
    end
    error = assert_raises(Tiercel::ConfigurationError) { build_backend(memo: 1 << 70) }
    assert_match(/memo: expected 1 MB to 1 TB/, error.message)
    refute_path_exists path
  end

  def test_another_size_than_that_of_the_segment_is_a_warning_with_the_command
    build_backend(size: "8MB").set("key", "value")
    _, said = capture_io { build_backend(size: "16MB") }
    command = said[/bundle exec ruby .*'$/].to_s
    assert_match(/#{path} has 8.0 MB, not the 16.0 MB of `size`/, said)
    library = File.expand_path("../../lib", __dir__)
    assert system(RbConfig.ruby, "-I#{library}", "-rtiercel/segment", "-e", command[/'(.*)'/, 1])
    _, said = capture_io { assert_equal 16 << 20, build_backend(size: "16MB").segment.size_bytes }
    assert_empty said
  end

  def path = File.join(dir, "segment")

  # @return [Array<Integer>] hits and misses that the block has added
  def counted(store)
    before = store.stats.values_at(:hits, :misses)
    yield
    store.stats.values_at(:hits, :misses).zip(before).map { |pair| pair.reduce(:-) }
  end
end
