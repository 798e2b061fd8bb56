# frozen_string_literal: true
# suites: store

require "test_helper"
require "tiercel/backends/sqlite"
require "delegate"
require "tmpdir"

# A full file accepts new entries, evicts old ones for them, and returns space.
class SQLiteRoomTest < Tiercel::TestCase
  SIZE = 4 * 1024**2
  BEFORE_IDS = Tiercel::Backends::SQLite::Schema::BEFORE_IDS

  def setup
    @directory = Dir.mktmpdir("tiercel-sqlite", File.writable?("/dev/shm") ? "/dev/shm" : nil)
    @open = []
  end

  def teardown
    @open.each(&:close)
    FileUtils.rm_rf(@directory)
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
      backend = build(File.join(@directory, "#{bytesize}.sqlite3"))
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

  def test_values_that_grow
    backend = build
    (1..20).each do |round|
      30.times { |index| assert_equal true, backend.set("key#{index}", "x" * (round * 10_000)) }
      assert_operator disk_bytes, :<=, SIZE * 1.05, "#{round * 10_000} bytes"
    end
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

  def test_counters_and_ends_find_room_too
    backend = build
    3_000.times { |index| backend.set("key#{index}", "x" * 1_500) }
    5_000.times { |index| assert_equal 1, backend.increment("counter#{index}") }
    assert_equal true, backend.touch("counter4999", 60)
    assert_operator disk_bytes, :<=, SIZE * 1.05
  end

  def test_cleanup_gives_the_file_back
    backend = build(size: 64 * 1024**2)
    backend.set_multi((0...3_000).to_h { |index| ["key#{index}", "x" * 5_000] }, 5)
    assert_operator disk_bytes, :>, 10_000_000
    travel(10) { assert_operator backend.cleanup, :>, 2_000 }
    assert_operator disk_bytes, :<, 500_000
  end

  # A longer row would need pages for a copy of itself.
  def test_notes_of_hits_write_no_large_value_again
    backend = build(max_entries: 100)
    15.times { |index| backend.set("key#{index}", "x" * 150_000) }
    access(backend).write(&:checkpoint)
    logs = Array.new(5) do |round|
      15.times { |index| backend.get("key#{index}") }
      travel(round) { 5.times { |index| backend.set("small#{index}", "x") } }
      File.size(File.join(@directory, "cache.sqlite3-wal"))
    end
    assert_equal [3], rows(backend).filter_map { |row| row[3] if row[4] > 100_000 }.uniq
    assert_operator logs.max, :<, 1_000_000
  end

  def test_a_large_row_can_get_an_end_in_a_full_file
    backend = build
    30.times { |index| backend.set("key#{index}", "x" * 200_000) }
    assert_equal true, backend.touch("key29", 60)
    travel(61) { assert_nil backend.get("key29") }
  end

  # A connection that another process overtakes between its read and its delete.
  class Overtaken < SimpleDelegator
    def initialize(connection, &between)
      super(connection)
      @between = between
    end

    def rows(...) = super.tap { @between.call }
  end

  def test_cleanup_leaves_what_was_written_since_it_was_seen
    backend = build
    peer = build
    %w[ended rewritten].each { |key| backend.set(key, "old", 5) }
    travel(10) do
      count, = access(backend).write do |connection|
        overtaken = Overtaken.new(connection) { peer.set("rewritten", "new") }
        housekeeping(backend).remove_ended(overtaken, BEFORE_IDS, Time.now.to_f)
      end
      assert_equal 1, count
      assert_equal "new".b, backend.get("rewritten")
    end
  end

  private

  def build(path = File.join(@directory, "cache.sqlite3"), **options)
    options = { size: SIZE, synchronous: :off, timeout: 20, **options }
    Tiercel::Backends::SQLite.new(path, **options).tap { |backend| @open << backend }
  end

  def access(backend) = backend.instance_variable_get(:@access)

  def housekeeping(backend) = backend.instance_variable_get(:@housekeeping)

  # The rows that a round of housekeeping sees among the first 64.
  def rows(backend) = access(backend).write { |connection| connection.rows(:sample, BEFORE_IDS, 64) }

  def disk_bytes = Dir[File.join(@directory, "cache.sqlite3*")].sum { |file| File.size?(file) || 0 }
end
