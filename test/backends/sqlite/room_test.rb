# frozen_string_literal: true
# suites: store

require "test_helper"

# A full file accepts new entries, evicts old ones for them, and returns space.
class SQLiteRoomTest < Tiercel::TestCase
  SIZE = 4 * 1024**2

  def setup
    dir(File.writable?("/dev/shm") ? "/dev/shm" : nil)
    @open = []
  end

  def teardown
    @open.each(&:close)
  end

  def test_large_values_after_many_small_ones
    backend = build
    backend.set_multi((0...45_000).to_h { |index| ["small#{index}", "x" * 60] })
    used = Array.new(30) do |index|
      assert_equal true, backend.set("large#{index}", "x" * 200_000)
      assert_equal 200_000, backend.get("large#{index}").bytesize
      disk_bytes
    end
    assert_operator used.max, :<=, SIZE * 1.05
  end

  # Some of these sizes leave too little space for a value, but too much for a round of housekeeping to start.
  def test_values_of_any_size_up_to_the_largest
    [140_000, 178_500, 197_000, 205_500, 206_500, 208_000, SIZE / 20].each do |bytesize|
      backend = build(File.join(dir, "#{bytesize}.sqlite3"))
      30.times { |index| assert_equal true, backend.set("key#{index}", "x" * bytesize), "#{bytesize}: #{index}" }
      backend.close
    end
  end

  def test_room_for_a_large_value_costs_few_others
    backend = build
    counts = Array.new(60) do |index|
      backend.set("key#{index}", "x" * 200_000)
      backend.scan.count
    end
    assert_operator counts.drop(20).min, :>=, 10
  end

  def test_the_large_value_that_is_read_stays
    backend = build
    backend.set("used", "x" * 100_000)
    100.times do |index|
      assert backend.get("used"), "after #{index} writes"
      backend.set("key#{index}", "x" * 100_000)
    end
  end

  # Longer unused than the others, and read more often.
  def test_the_values_that_were_read_often_stay
    backend = build
    popular, others = { "popular" => 20, "other" => 140 }.map { |name, count| Array.new(count) { "#{name}#{_1}" } }
    [*popular, *others].each { |key| backend.set(key, "x" * 20_000) }
    3.times do
      popular.each { |key| backend.get(key) }
      32.times { backend.set("a round", "x") }
    end
    travel(3_600) { others.each { |key| backend.set(key, "x" * 20_000) } }
    travel(10_800) { 60.times { |index| backend.set("new#{index}", "x" * 20_000) } }
    assert_operator backend.stats[:evictions], :>, 20
    assert_equal popular, popular.select { |key| backend.get(key) }
  end

  # Used later than the others, which stay.
  def test_expired_values_are_evicted_first
    backend = build
    40.times { |index| backend.set("lasting#{index}", "x" * 20_000) }
    travel(1_800) { 160.times { |index| backend.set("ended#{index}", "x" * 20_000, 60) } }
    lasting = backend.scan("lasting").sort
    evictions = backend.stats[:evictions]
    travel(3_600) { 40.times { |index| backend.set("new#{index}", "x" * 20_000) } }
    assert_operator backend.stats[:evictions], :>, evictions
    assert_equal lasting, backend.scan("lasting").sort
  end

  def test_several_values_that_are_too_large
    backend = build
    assert_equal false, backend.set_multi({ "large" => "x" * (SIZE / 20 + 1) })
    assert_equal false, backend.set_multi({ "large" => "x" * (SIZE / 20 + 1), "small" => "value" })
    assert_equal({ "small" => "value".b }, backend.get_multi(%w[large small]))
    assert_equal true, backend.set_multi({})
  end

  def test_more_at_once_than_the_file_holds
    backend = build
    [600, 20_000, 100_000].each do |bytesize|
      pairs = (0...(SIZE * 2 / bytesize)).to_h { |index| ["key#{bytesize}.#{index}", "x" * bytesize] }
      assert_equal true, backend.set_multi(pairs)
      assert_operator backend.get_multi(pairs.keys).size, :>, pairs.size / 8
      assert_operator disk_bytes, :<=, SIZE * 1.05, "#{bytesize} bytes"
    end
  end

  private

  def build(path = File.join(dir, "cache.sqlite3"), **options)
    options = { size: SIZE, timeout: 20, **options }
    Tiercel::Backends::SQLite.new(path, **options).tap { |backend| @open << backend }
  end

  def disk_bytes = Dir[File.join(dir, "cache.sqlite3*")].sum { |file| File.size?(file) || 0 }
end
