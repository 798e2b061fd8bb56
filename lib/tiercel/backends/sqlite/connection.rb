# frozen_string_literal: true

require "json"
require "sqlite3"

# A connection that knows the process that opened it. SQLite forbids a child to use or close its parent's connection:
# POSIX locks belong to the process, but the child would inherit SQLite's record of them (sqlite.org/howtocorrupt.html,
# section 2.6). A child therefore discards what it has inherited before it opens a connection of its own.
class Tiercel::Backends::SQLite::Database < SQLite3::Database
  ALL = ObjectSpace::WeakMap.new

  # The gem's close does not touch the file if another process opened it.
  def self.discard_inherited = ALL.keys.each { |database| database.close if database.inherited? && !database.closed? }

  def initialize(...)
    @process = Tiercel::Forks.current
    super
    ALL[self] = true
  end

  def inherited? = !Tiercel::Forks.current?(@process)

  # The gem's hook for forks warns about writable connections, and closes them.
  def readonly? = inherited? || super
end

# An open file with its prepared statements. Not thread-safe: the caller holds the backend's lock.
#
# `id` is 63 bits of the key's MD5 digest, and the key of a single B-tree. The rows are therefore in random order, so
# any run of neighbours is a fair sample for eviction. The full key is stored and compared. If two keys have the same
# id, the later write evicts the other entry.
class Tiercel::Backends::SQLite::Connection
  # Ids have 63 bits including the sign, so they are immediate Integers in Ruby.
  IDS = (-(2**62)...2**62)
  # A number below all ids, at which a walk through all ids starts.
  BEFORE_IDS = IDS.first - 1
  # Added to the number of hits. Each number from 0 to 3 then needs one byte, so a recorded hit never moves a large row.
  HITS_BASE = 2
  MOST_HITS = 3
  INSERT = "INSERT INTO entries (id, key, value, expires_at, version, used_at, hits) " \
           "VALUES (?1, ?2, ?3, ?4, ?5, ?6, #{HITS_BASE}) ON CONFLICT (id) DO UPDATE SET key = excluded.key, " \
           "value = excluded.value, expires_at = excluded.expires_at, version = excluded.version, " \
           "used_at = excluded.used_at".freeze
  PRESENT = "id = ?1 AND key = ?2 AND (expires_at IS NULL OR expires_at > ?3)"
  STATEMENTS = {
    find: "SELECT value, key, expires_at, version FROM entries WHERE id = ?1",
    find_multi: "SELECT e.value, e.key, e.expires_at, wanted.key FROM json_each(?1) AS wanted " \
                "CROSS JOIN entries AS e ON e.id = wanted.value",
    set: INSERT,
    add: "#{INSERT} WHERE entries.expires_at <= ?7 OR entries.key <> excluded.key",
    compare_and_set: "UPDATE entries SET value = ?4, expires_at = ?5, version = ?6, used_at = ?7 " \
                     "WHERE #{PRESENT} AND version = ?8",
    delete: "DELETE FROM entries WHERE #{PRESENT}",
    touch: "UPDATE entries SET expires_at = ?4 WHERE #{PRESENT}",
    keys: "SELECT id, key, expires_at FROM entries WHERE id > ?1 ORDER BY id LIMIT ?2",
    sample: "SELECT id, expires_at, used_at, max(hits - #{HITS_BASE}, 0), length(value) + length(key) " \
            "FROM entries WHERE id > ?1 ORDER BY id LIMIT ?2",
    remove: "DELETE FROM entries WHERE id = ?1 AND used_at = ?2",
    end_of_run: "SELECT id FROM entries WHERE id > ?1 ORDER BY id LIMIT 1 OFFSET ?2 - 1",
    remove_run: "DELETE FROM entries WHERE id > ?1 AND id <= ?2 AND (?3 IS NULL OR expires_at <= ?3)",
    note_use: "UPDATE entries SET hits = min(hits + 1, #{HITS_BASE + MOST_HITS}), used_at = ?2 " \
              "WHERE id = ?1 AND (hits < #{HITS_BASE + MOST_HITS} OR used_at < ?3)",
    put_member: "INSERT INTO totals (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET " \
                "value = excluded.value",
    other_members: "SELECT count(*) FROM totals WHERE name GLOB 'member:*' AND name <> ?1 AND value > ?2",
    count: "SELECT count(*) FROM entries WHERE id <= ?1",
    page_count: "PRAGMA page_count",
    free_pages: "PRAGMA freelist_count",
    begin: "BEGIN IMMEDIATE",
    commit: "COMMIT",
  }.freeze
  VALUE, KEY, EXPIRES_AT, TOKEN = *0..3 # columns of `find`
  INDEX = 3 # column of `find_multi`

  MAPPED_BYTES = 128 * 1024**2
  PAGE_CACHE_KIB = 4 * 1024
  # The write-ahead log counts towards `size`. A long log makes checkpoints rare (each waits for the disk twice), but
  # every read searches its index.
  LOG_SHARE = 16
  LOG_BYTES = (128 * 1024..16 * 1024**2)
  # Space for the index of the log, and for the log of one round of eviction.
  SPARE_BYTES = 224 * 1024
  # A disk smaller than `size` keeps this share for other programs, up to 64 MB.
  RESERVED_SHARE = 0.25
  RESERVED_BYTES = 64 * 1024**2
  LEAST_BYTES = 1024**2
  # In a file with more pages the number of entries is estimated.
  COUNTED_PAGES = 20_000

  attr_reader :page_limit, :page_bytes, :log_bytes

  # @param row [Array, nil]
  # @return [Boolean, nil] whether it is the row of this key
  def self.same?(row, key) = row && ((stored = row[KEY]) == key || stored == key.b)

  # Opens an existing file. Acquires no write lock, so a new process can read while others write.
  #
  # @raise [SQLite3::Exception]
  # @raise [ConfigurationError] if another program has its tables in the log, where {CacheFile#verify} does not look
  def initialize(file, size_bytes)
    @file = file
    @process = Tiercel::Forks.current
    @database = Tiercel::Backends::SQLite::Database.new(file.path, flags: SQLite3::Constants::Open::READWRITE)
    pragma("synchronous", 1) # after a crash of the machine, the last writes may be lost, and the file is sound
    pragma("mmap_size", MAPPED_BYTES)
    pragma("cache_size", -PAGE_CACHE_KIB)
    @page_bytes = @database.get_first_value("PRAGMA page_size")
    fit(size_bytes)
    @statements = STATEMENTS.transform_values { |sql| @database.prepare(sql) }
    @find, @set = @statements.values_at(:find, :set)
  rescue SQLite3::Exception => error
    missing = error.instance_of?(SQLite3::SQLException)
    others = missing ? file.tables(@database) - Tiercel::Backends::SQLite::CacheFile::TABLES.keys : []
    @database&.close
    raise unless missing
    raise file.foreign("tables: #{others.join(", ")}") if others.any?
    raise SQLite3::CorruptException, "its tables are not those of a cache: #{error.message.lines.first.chomp(":\n")}"
  end

  def own? = @process == Tiercel::Forks.current

  # Limits the file to `size`, or to the space that its disk has now.
  def fit(size_bytes)
    if (all = @file.room_bytes)
      size_bytes = [size_bytes, [all - [all * RESERVED_SHARE, RESERVED_BYTES].min, LEAST_BYTES].max].min.to_i
    end
    log_bytes = (size_bytes / LOG_SHARE).clamp(LOG_BYTES)
    @page_limit = (size_bytes - log_bytes - SPARE_BYTES) / @page_bytes
    return if log_bytes == @log_bytes
    @log_bytes = log_bytes
    pragma("wal_autocheckpoint", log_bytes / @page_bytes)
    pragma("journal_size_limit", log_bytes)
  end

  # Reads one row; the hot path.
  #
  # @param key [String] another key may have the same id
  # @return [Array, nil] VALUE, KEY, EXPIRES_AT, TOKEN
  def find(id, key)
    statement = @find
    statement.bind_param(1, id)
    row = statement.step
    row if self.class.same?(row, key)
  ensure
    statement.reset!
  end

  # One statement, which is one read transaction.
  #
  # @return [Array<Array>] rows, each with the index of its id; the caller compares the keys
  def find_multi(ids) = rows(:find_multi, JSON.generate(ids))

  # @return [Boolean] whether the row is the one that this connection has inserted last
  def set(id, key, bytes, expires_at, version, used_at)
    statement = @set
    statement.bind_param(1, id)
    statement.bind_param(2, key)
    statement.bind_param(3, bytes)
    statement.bind_param(4, expires_at)
    statement.bind_param(5, version)
    statement.bind_param(6, used_at)
    statement.step
    @database.last_insert_row_id == id # SQLite changes the number only with an insert
  ensure
    statement.reset!
  end

  # @return [Integer] number of changed rows
  def change(name, *values)
    number(name, *values)
    @database.changes
  end

  # @return [Integer, nil] first column of the first row
  def number(name, *values)
    bind(name, values).step&.first
  ensure
    @statements[name].reset!
  end

  # @return [Array<Array>] all rows
  def rows(name, *values)
    statement = bind(name, values)
    rows = []
    while (row = statement.step)
      rows << row
    end
    rows
  ensure
    @statements[name].reset!
  end

  def transaction
    number(:begin)
    result = yield
    number(:commit)
    result
  ensure
    @database.execute("ROLLBACK") if @database.transaction_active?
  end

  # Removes the rows of the run after an id, or the expired ones of them.
  #
  # @return [Array(Integer, Integer)] number of removed rows, and the last id of the run; BEFORE_IDS after the last run
  def remove_run(after, rows, expired_at = nil)
    last = number(:end_of_run, after, rows)
    [change(:remove_run, after, last || IDS.last, expired_at), last || BEFORE_IDS]
  end

  # Counts the entries. An exact count reads every page, so in a large file it is estimated: ids are spread evenly over
  # their range, and a part of the range is counted.
  def entries
    parts = (number(:page_count).fdiv(COUNTED_PAGES)).ceil
    number(:count, IDS.first + (IDS.size / parts)) * parts
  end

  def used_pages = number(:page_count) - number(:free_pages)

  # Returns free pages at the end of the file to the disk.
  def vacuum(pages) = @database.execute("PRAGMA incremental_vacuum(#{Integer(pages)})")

  # Writes the log back and empties it, as far as other connections allow.
  #
  # @return [Boolean] whether the log is empty now
  def empty_log = @database.execute("PRAGMA wal_checkpoint(TRUNCATE)").first.first.zero?

  # @raise [SQLite3::BusyException] if the log is too long and cannot be emptied
  def shorten_log
    raise SQLite3::BusyException, "the log is in use" if @file.log_bytes > @log_bytes && !empty_log
  end

  def close
    @statements.each_value(&:close)
    @database.close
  end

  private

  def bind(name, values)
    statement = @statements.fetch(name)
    values.each_with_index { |value, index| statement.bind_param(index + 1, value) }
    statement
  end

  def pragma(name, value) = @database.execute("PRAGMA #{name} = #{value}")
end
