# frozen_string_literal: true
# quick

require "test_helper"
require "objspace"

class MemoryTest < Tiercel::TestCase
  include Tiercel::Contracts::BackendContract

  def build_backend(**options) = Tiercel::Backends::MemorySegment.build(Tiercel::BackendURL.parse("memory:"), options)

  # The process itself grows by some 60 MB of garbage, which malloc keeps: as much as with a `null:` store.
  def test_overwrites_of_every_size_keep_nothing
    store = Tiercel.new("memory:", size: "16MB")
    random = Random.new(1)
    kept = Array.new(3) do
      2_000.times do
        store.write("key#{random.rand(500)}", "x" * 10**random.rand(1..5))
        store.read("key#{random.rand(500)}")
      end
      GC.start
      ObjectSpace.memsize_of_all
    end
    assert_operator kept.last - kept.first, :<=, store.stats[:memo_limit_bytes] + (1 << 20)
    assert_operator store.stats[:bytes], :<=, 16 << 20
  end

  # 1/256 of 64 MB, at least 128 KB; options override it.
  def test_values_are_compressed_from_a_share_of_the_size_on
    value = "<li>a row</li>" * 15_000
    stored = lambda do |size, **options|
      store = Tiercel.new("memory:", size:, **options)
      store.write("key", value)
      assert_equal value, store.read("key")
      store.backend.get("key").bytesize
    end
    assert_operator stored["64MB"], :>, value.bytesize
    assert_operator stored["32MB"], :<, value.bytesize / 10
    assert_operator stored["64MB", compress: true], :<, value.bytesize / 10
    assert_operator stored["64MB", compress_threshold: 200_000], :<, value.bytesize / 10
    assert_operator stored["1MB", compress: false], :>, value.bytesize
    assert_equal 128 * 1024, build_backend(size: "1MB").compress_threshold_bytes
  end

  def test_a_child_has_a_copy_of_its_own
    backend.set("key", "parent")
    children = fork_and_wait(1) { [backend.get("key"), backend.set("key", "child"), backend.get("key")] }
    assert_equal [["parent", true, "child"]], children
    assert_equal "parent", backend.get("key")
  end
end
