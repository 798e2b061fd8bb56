# frozen_string_literal: true
# suites: store

require "test_helper"
require "contracts/backend_contract"
require "support/held_by_another"

class SQLiteBackendTest < Tiercel::TestCase
  include Tiercel::Contracts::BackendContract

  def before_setup
    super
    dir(memory_folder)
  end

  # Uses a long timeout: these tests check results on a busy machine; test/faults/ checks the time budget.
  def build_backend(**) = Tiercel::Backends::SQLite.new(path, timeout: 20, **)

  def build_peer = build_backend

  def test_options_are_checked
    assert_match(/path/, assert_raises(Tiercel::ConfigurationError) { Tiercel::Backends::SQLite.new("") }.message)
    assert_match(/timeout:/, assert_raises(Tiercel::ConfigurationError) { build_sqlite(timeout: -1) }.message)
  end

  def test_the_file_is_a_cache_of_its_own_and_its_owners
    backend.set("key", "value")
    assert_equal 0o600, File.stat(path).mode & 0o777
    assert_equal Tiercel::Backends::SQLite::CacheFile::APPLICATION_ID, pragma("application_id")
    assert_equal "wal", pragma("journal_mode")
    assert_equal 2, pragma("auto_vacuum")
  end

  def test_of_two_keys_with_one_id_the_later_write_wins
    backend.instance_variable_get(:@ids).default_proc = proc { 7 }
    backend.set("one", "1")
    assert_nil backend.get("two")
    assert_equal false, backend.delete("two")
    assert_equal true, backend.add("two", "2")
    assert_nil backend.get("one")
    assert_equal 5, backend.increment("three", 5)
    assert_nil backend.get("two")
  end

  # A hundred thousand of the smallest entries for each fill of the file.
  def test_size_is_held_after_writing_many_times_as_much
    size = 4 * 1024**2
    [[60, 200], [400, 3_000], [20_000, 200_000]].each do |smallest, largest|
      bounded = build_sqlite(size: size)
      used = fill(bounded, size * (long? ? 10 : 3), smallest..largest, Random.new(7))
      assert_operator used.max, :<=, size * 1.05, "#{smallest}..#{largest} bytes"
      assert_operator used.last, :>=, size * 0.8, "#{smallest}..#{largest} bytes"
      bounded.close
      FileUtils.rm_f(Dir["#{path}*"])
    end
  end

  # SQLite alone writes the log back then, and leaves it as long as it is.
  def test_a_log_that_a_reader_has_held_is_emptied_by_the_next_write
    bounded = build_sqlite(size: "8MB")
    bounded.set("key", "value")
    reading = lambda do
      SQLite3::Database.new(path, readonly: true).tap do |other|
        ["BEGIN", "SELECT 1 FROM entries"].each { |sql| other.execute(sql) }
      end
    end
    HeldByAnother.while(reading) do
      30.times { |index| bounded.set("key#{index}", "x" * 100_000) }
      assert_operator File.size("#{path}-wal"), :>, 2 * 1024**2
    end
    # After a vain attempt the log is left alone for a second.
    travel_monotonic(60) { bounded.set("last", "x" * 300_000) }
    assert_equal 0, File.size("#{path}-wal")
  ensure
    bounded&.close
  end

  # With SQLite's own checkpoints, several writers let the log grow without limit; here it reached twice `size`.
  def test_size_is_held_while_several_processes_write
    skip "each writer needs the CPU for its checkpoints: --long" unless long?
    size = 8 * 1024**2
    used = fork_and_wait(4) do |index|
      mine = Tiercel::Backends::SQLite.new(path, size: size, timeout: 20)
      fill(mine, size, 1_000..3_000, Random.new(index), "writer#{index}.").max
    end
    assert_operator used.max, :<=, size * 1.25
    assert_operator disk_bytes, :<=, size * 1.05
  end

  def test_writes_drop_what_has_ended
    100.times { |index| backend.set("old#{index}", "value", 5) }
    later(10) do
      400.times { |index| backend.set("new#{index % 10}", "value") }
      assert_operator column("SELECT count(*) FROM entries"), :<=, 10
    end
  end

  def test_cleanup_drops_what_has_ended
    1_200.times { |index| backend.set("key#{index}", "value", index < 700 ? 5 : nil) }
    later(10) { assert_in_delta 700, backend.cleanup, 100 }
    assert_equal 500, backend.stats[:entries]
  end

  # Replaced bytes need no room, whatever the connection takes for a new row.
  def test_overwriting_one_entry_evicts_no_other
    bounded = build_sqlite(size: "4MB")
    index = 0
    bounded.set("key#{index += 1}", "x" * 10_000) until bounded.stats[:evictions].positive?
    bounded.set("last", "x" * 10_000)
    100.times { bounded.set("last", "x" * 10_000) } # frees what the rounds before still wanted
    evictions = bounded.stats[:evictions]
    1_000.times { bounded.set("last", "x" * 10_000) }
    assert_equal evictions, bounded.stats[:evictions]
  ensure
    bounded&.close
  end

  # A round reads its sample, and another process uses a row before the round removes it.
  def test_an_entry_that_was_used_since_the_sample_stays
    backend.set("key", "value")
    place = Tiercel::Backends::SQLite::CacheFile.new(path, 20)
    connection = Tiercel::Backends::SQLite::Connection.new(place, 8 << 20)
    id, _, used_at = connection.rows(:sample, Tiercel::Backends::SQLite::Connection::BEFORE_IDS, 1).first
    assert_equal [0, 1], [used_at - 1, used_at].map { |at| connection.change(:remove, id, at) }
  ensure
    connection&.close
  end

  # A near tier asks who has changed the file lately.
  def test_a_change_renews_the_registration_of_its_process
    near = build_backend.tap { |other| other.member_name = "near" }
    backend.set("key", "1")
    travel(60) do
      refute near.others_since?(Tiercel::Clock.now - 30)
      backend.set("key", "2")
      assert near.others_since?(Tiercel::Clock.now - 30)
    end
  ensure
    near&.close
  end

  def test_reading_writes_nothing
    bounded = build_sqlite(size: "4MB")
    100.times { |index| bounded.set("key#{index}", "x" * 30_000) }
    version = pragma("data_version")
    wal = File.size("#{path}-wal")
    2_000.times { |index| bounded.get("key#{index % 100}") }
    assert_equal [version, wal], [pragma("data_version"), File.size("#{path}-wal")]
  ensure
    bounded&.close
  end

  def test_free_pages_are_given_back
    value = "x" * 2_000
    4_000.times { |index| backend.set("key#{index}", value) }
    large = pragma("page_count")
    4_000.times { |index| backend.delete("key#{index}") }
    2_000.times { |index| backend.set("one#{index % 5}", "value") }
    assert_operator pragma("page_count"), :<, large / 4
  end

  def test_clear_gives_the_file_back
    backend.set_multi((0...500).to_h { |index| ["key#{index}", "x" * 5_000] })
    backend.clear
    assert_operator File.size(path), :<, 200_000
  end

  # SQLite forbids a child to use its parent's connection.
  def test_a_child_discards_what_it_has_inherited
    backend.set("key", "value")
    children = fork_and_wait(1) do
      found = backend.get("key")
      [found, Tiercel::Backends::SQLite::Database::ALL.keys.all? { |one| one.closed? || !one.inherited? }]
    end
    assert_equal [["value".b, true]], children
  end

  def test_a_fork_warns_of_nothing_and_two_backends_of_one_file_survive_it
    other = build_backend
    backend.set("key", "value")
    other.set("other", "value")
    _out, err = capture_subprocess_io do
      fork_and_wait(2) do |index|
        20.times { |round| (round.odd? ? backend : other).set("child#{index}.#{round}", "value") }
        raise "lost" unless backend.get("child#{index}.0") && other.get("key")
      end
    end
    assert_empty err
    assert_equal "value".b, backend.get("child1.19")
    assert_equal [["ok"]], SQLite3::Database.new(path).execute("PRAGMA integrity_check")
  ensure
    other&.close
  end

  private

  # Checkpoints wait for the disk.
  def memory_folder = File.writable?("/dev/shm") ? "/dev/shm" : nil

  def path = File.join(dir, "cache.sqlite3")

  def build_sqlite(**) = Tiercel::Backends::SQLite.new(path, timeout: 20, **)

  # Opens the file in another process, because opening and closing it in this one would release its locks.
  def column(sql)
    fork_and_wait(1) { SQLite3::Database.new(path, readonly: true).get_first_value(sql) }.first
  end

  def pragma(name) = column("PRAGMA #{name}")

  def disk_bytes = Dir["#{path}*"].sum { |file| File.size?(file) || 0 }

  def fill(backend, bytes, sizes, random, prefix = "key")
    written = index = 0
    used = []
    while written < bytes
      value = random.bytes(random.rand(sizes))
      backend.set("#{prefix}#{index += 1}", value)
      written += value.bytesize
      used << disk_bytes if (index % 500).zero?
    end
    used << disk_bytes
  end
end
