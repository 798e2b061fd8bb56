# frozen_string_literal: true

require "test_helper"
require "objspace"
require "tiercel"

class KeyMemoTest < Tiercel::TestCase
  KeyMemo = Tiercel::Backends::Disk::KeyMemo

  def test_what_is_computed_is_remembered
    computed = []
    memo = KeyMemo.new { |key| (computed << key) && key.upcase }

    assert_equal %w[A A B], [memo["a"], memo["a"], memo["b"]]
    assert_equal %w[a b], computed
  end

  def test_it_is_bounded_in_entries
    memo = KeyMemo.new(&:bytesize)
    (KeyMemo::ENTRIES * 2 + 5).times { |index| memo["key #{index}"] }

    assert_equal 5, memo.size
  end

  def test_long_keys_are_computed_each_time
    memo = KeyMemo.new(&:bytesize)

    assert_equal [1_024, 1_025, 1_025], [1_024, 1_025, 1_025].map { |size| memo["k" * size] }
    assert_equal 1, memo.size
  end

  # With `max_key_size: false` a key can have any size.
  def test_backends_do_not_keep_long_keys
    with_tmpdir do |dir|
      backend = Tiercel::Backends::File.new(dir)
      before = bytes_of_strings
      100.times { |index| backend.get("#{index}#{"k" * 200_000}") }

      assert_operator bytes_of_strings - before, :<, 5_000_000
    end
  end

  private

  def bytes_of_strings
    GC.start
    ObjectSpace.memsize_of_all(String)
  end
end
