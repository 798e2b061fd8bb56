# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache"
require "active_support/cache/tiercel_store"
require "support/small_volume"
require_relative "disk_rows"

# The rows of docs/failures.md for `sqlite:`: every failure is a miss and a report, never another exception.
class SQLiteFaultsTest < Tiercel::TestCase
  include DiskRows

  def setup
    @open = []
  end

  def teardown
    @open.each(&:close)
  end

  def test_a_file_of_garbage_is_set_aside_with_one_report
    damage(Random.new(1).bytes(20_000))
    store = build_store
    reports = capture_reports { assert_nil store.read("key") }
    assert_equal [Tiercel::Refused], reports.map { |report| report.error.class }
    assert_match(/moved to .*damaged/, reports.first.error.message)
    assert_equal true, store.write("key", "value")
    assert_equal "value", store.read("key")
    assert_equal [20_000], set_aside.map { |file| File.size(file) }
  end

  def test_damage_under_an_open_connection
    backend = build
    backend.set_multi((0...500).to_h { |index| ["key#{index}", "x" * 1_000] })
    backend.close
    in_child { File.open(path, "r+b") { |file| file.pwrite("\xAA" * (File.size(path) - 8_192), 8_192) } }
    errors = 500.times.filter_map do |index|
      backend.get("key#{index}")
      nil
    rescue Tiercel::BackendError => error
      error
    end
    assert_equal [Tiercel::Refused], errors.map(&:class)
    assert_equal true, backend.set("key", "value")
    assert_equal 1, set_aside.count { |file| !file.end_with?("-wal", "-shm") }
  end

  # One altered bit in the text of the table's definition. SQLite opens the file without an error.
  def test_an_altered_definition_of_a_table_is_damage
    [["id INTEGER PRIMARY", "ie INTEGER PRIMARY"], ["version INTEGER", "versioo INTEGER"]].each do |from, to|
      build.then { |backend| [backend.set("key", "value"), backend.close] }
      bytes = File.binread(path)
      assert bytes.sub!(from, to)
      in_child { File.binwrite(path, bytes) }
      store = build_store
      reports = capture_reports { assert_nil store.read("key") }
      assert_equal [Tiercel::Refused], reports.map { |report| report.error.class }, to
      assert_match(/tables are not those of a cache: .*moved to/, reports.first.error.message)
      assert_equal true, store.write("key", "value")
      assert_equal "value", store.read("key")
      store.close
    end
  end

  # Another process replaces the file between this one's failure and its lock.
  def test_the_file_that_replaced_a_damaged_one_stays
    damage("no database" * 1_000)
    late, other = build(timeout: 20), build(timeout: 20)
    late.define_singleton_method(:set_aside) do |*arguments|
      2.times { other.set("key", "value") rescue nil }
      super(*arguments)
    end
    assert_raises(Tiercel::Refused) { late.get("key") }
    assert_equal "value".b, late.get("key")
  end

  def test_many_processes_that_find_damage_replace_the_file_once
    damage("no database" * 1_000)
    answers = fork_and_wait(6) do |index|
      backend = build(timeout: 20)
      begin
        backend.set("key#{index}", "value")
      rescue Tiercel::BackendError
        nil
      end
      [backend.set("key#{index}", "value"), backend.get("key#{index}")]
    end
    assert_equal [[true, "value".b]] * 6, answers
    assert_equal 1, set_aside.count { |file| !file.end_with?("-wal", "-shm") }
    assert_equal 6, build.scan.count
  end

  def test_other_threads_read_while_one_waits_for_the_lock
    backend = build(timeout: 60)
    backend.set("key", "value")
    while_locked do
      waiting = Thread.new { backend.set("key", "new") }
      waiting.report_on_exception = false
      assert_equal(["value".b], 20.times.map { Thread.pass || backend.get("key") }.uniq)
      assert waiting.alive?
      waiting.kill.join
    end
  end

  def test_a_disk_smaller_than_the_size_costs_entries_and_no_write
    needs_extension "segment" # which knows how much of a disk is free
    skip "mounting needs root" unless SmallVolume.available?
    [["2m", 20_000, 400], ["12m", 300_000, 100], ["12m", 900, 30_000]].each do |volume_size, bytesize, count|
      SmallVolume.open(volume_size) do |volume|
        store = build_store(File.join(volume, "cache.sqlite3"), size: "64MB")
        reports = capture_reports do
          results = Array.new(count) { |index| store.write("key#{index}", Random.bytes(bytesize)) }
          assert_equal [true], results.uniq
        end
        assert_empty reports
        kept = count.times.select { |index| store.exist?("key#{index}") }
        assert_operator kept.size * bytesize, :>, Integer(volume_size[/\d+/]) * 1024**2 / 3
        assert_includes kept, count - 1
        store.backend.close
      end
    end
  end

  def test_a_full_disk_can_still_be_read_and_written_when_there_is_room_again
    skip "mounting needs root" unless SmallVolume.available?
    SmallVolume.open("4m") do |volume|
      backend = build(File.join(volume, "cache.sqlite3"), size: "64MB")
      backend.set("key", "value")
      ballast = File.join(volume, "ballast")
      fill_up(ballast)
      20.times { |index| assert_includes_result(backend, index) }
      assert_equal "value".b, backend.get("key")
      File.unlink(ballast)
      assert_equal true, backend.set("key", "x" * 50_000)
      backend.close
    end
  end

  def test_a_read_only_file_system
    skip "mounting needs root" unless SmallVolume.available?
    SmallVolume.open("4m") do |volume|
      place = File.join(volume, "cache.sqlite3")
      build(place).tap { |backend| backend.set("key", "value") }.close
      SmallVolume.read_only(volume)
      store = build_store(place)
      reports = capture_reports do
        assert_nil store.write("key", "value")
        assert_nil store.read("other")
      end
      refute_empty reports
      assert_empty reports.map { |report| report.error.class } - [Tiercel::Refused, Tiercel::Unavailable]
      store.backend.close
    end
  end

  def test_a_place_that_cannot_be
    File.write(File.join(dir, "file"), "")
    backend = build(File.join(dir, "file", "cache.sqlite3"))
    assert_raises(Tiercel::Unavailable) { backend.get("key") }
    assert_raises(Tiercel::ConfigurationError) { build(dir) }
  end

  def test_a_removed_file_is_made_anew
    backend = build
    backend.set("key", "value")
    FileUtils.rm(Dir["#{path}*"])
    100.times { backend.get("key") }
    assert_nil backend.get("key")
    assert_equal true, backend.set("key", "again")
    assert_equal "again".b, build.get("key")
  end

  def test_killed_writers_leave_a_sound_file
    backend = build(timeout: 20)
    backend.increment("counter", 0)
    pids = 4.times.map { |index| fork { write_forever(index) } }
    wait_until("writes", within: 30) { backend.get("counter").to_i > 100 }
    pids.each { |pid| Process.kill(:KILL, pid) && Process.wait(pid) }
    count = backend.get("counter").to_i
    assert_equal count + 1, backend.increment("counter")
    assert_equal [["ok"]], in_child { SQLite3::Database.new(path).execute("PRAGMA integrity_check") }
  end

  private

  def path = File.join(dir, "cache.sqlite3")

  def build(place = path, **) = Tiercel::Backends::SQLite.new(place, **).tap { |backend| @open << backend }

  def build_store(place = path, **)
    ActiveSupport::Cache.lookup_store(:tiercel_store, "sqlite:#{place}", **).tap { |store| @open << store.backend }
  end

  # Damages an existing cache.
  def damage(bytes)
    build.tap { |backend| backend.set("old", "value") }.close
    File.binwrite(path, bytes)
  end

  # SQLite's locks belong to the process, so code that opens the file itself runs in another process.
  def in_child(&block) = fork_and_wait(1) { block.call }.first

  def set_aside = Dir["#{path}.damaged*"]

  def lock = SQLite3::Database.new(path).tap { |database| database.execute("BEGIN IMMEDIATE") }

  def write_forever(index)
    backend = build(timeout: 20)
    loop do
      backend.increment("counter")
      backend.set("key#{index}.#{rand(100)}", Random.bytes(rand(5_000)))
    end
  end

  def fill_up(ballast)
    File.open(ballast, "wb") { |file| loop { file.syswrite("\0" * 4_096) } }
  rescue Errno::ENOSPC
    nil
  end

  def assert_includes_result(backend, index)
    assert_includes [true, false], backend.set("key#{index}", "x" * 50_000)
  rescue Tiercel::BackendError => error
    assert_kind_of Tiercel::Refused, error
  end
end
