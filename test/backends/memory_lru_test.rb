# frozen_string_literal: true

require "test_helper"
require "tiercel/backends/memory_lru"

class MemoryLRUTest < Tiercel::TestCase
  include Tiercel::Contracts::BackendContract

  def build_backend = Tiercel::Backends::MemoryLRU.new

  def test_it_never_takes_more_than_its_size
    small = Tiercel::Backends::MemoryLRU.new(size: 20_000)
    1_000.times do |index|
      small.set("key#{index}", "x" * (index % 700))
      assert_operator small.stats[:bytes], :<=, 20_000
    end
    assert_operator small.stats[:evictions], :>, 900
    assert_equal 1_000, small.stats[:entries] + small.stats[:evictions]
  end

  def test_it_drops_the_entry_that_was_used_least_recently
    small = Tiercel::Backends::MemoryLRU.new(size: 4 * 400)
    %w[a b c d].each { |key| small.set(key, "x" * 100) }
    small.get("a")
    small.set("e", "x" * 100)
    assert_equal %w[a c d e], small.scan.sort
  end

  def test_a_value_above_its_share_is_refused_and_the_old_one_gone
    small = Tiercel::Backends::MemoryLRU.new(size: 10_000)
    small.set("key", "old")
    assert_equal false, small.set("key", "x" * 3_000)
    assert_nil small.get("key")
    assert_equal 0, small.stats[:bytes]
  end

  def test_a_write_removes_a_bounded_number_of_entries
    backend = Tiercel::Backends::MemoryLRU.new(size: 8 * 1024 * 1024)
    40_000.times { |index| backend.set(index.to_s, "") }
    before = backend.stats[:evictions]
    assert_equal false, backend.set("large", "x" * (2 * 1024 * 1024 - 1_000))
    assert_equal Tiercel::Backends::MemoryLRU::MAX_EVICTIONS_PER_WRITE, backend.stats[:evictions] - before
  end

  def test_bytes_return_to_zero
    backend.set_multi({ "a" => "1", "b" => "22" }, 10)
    backend.increment("counter")
    backend.delete("counter")
    travel(11) { assert_equal 2, backend.cleanup }
    assert_equal 0, backend.stats[:bytes]
  end

  def test_size_is_checked
    error = assert_raises(Tiercel::ConfigurationError) { Tiercel::Backends::MemoryLRU.new(size: "lots") }
    assert_match(/size: expected bytes/, error.message)
  end
end
