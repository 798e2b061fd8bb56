# frozen_string_literal: true

require "sqlite3"

# A connection that knows the process that opened it. SQLite forbids a child to use or close its parent's connection:
# POSIX locks belong to the process, but the child would inherit SQLite's record of them (sqlite.org/howtocorrupt.html,
# section 2.6). A child therefore discards what it has inherited before it opens a connection of its own.
class Tiercel::Backends::SQLite::Database < SQLite3::Database
  @all = ObjectSpace::WeakMap.new
  class << self
    attr_reader :all

    # The gem's close does not touch the file if another process opened it.
    def discard_inherited = all.keys.each { |database| database.close if database.inherited? && !database.closed? }
  end

  def initialize(...)
    @process = Tiercel::Forks.current
    super
    Tiercel::Backends::SQLite::Database.all[self] = true
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
  # The tables are missing or have another definition.
  class Damaged < StandardError; end
  # A later release created the file.
  class TooNew < StandardError; end

  CacheFile = Tiercel::Backends::SQLite::CacheFile
  # Incremented whenever the tables change; `user_version` of the file.
  VERSION = 1
  # Ids have 63 bits including the sign, so they are immediate Integers in Ruby.
  IDS = (-(2**62)...2**62)
  # A number below all ids, at which a walk through all ids starts.
  BEFORE_IDS = IDS.first - 1
  TABLES = [
    "CREATE TABLE entries (id INTEGER PRIMARY KEY, expires_at REAL, used_at INTEGER NOT NULL, " \
    "hits INTEGER NOT NULL, version INTEGER NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL)",
    "CREATE TABLE totals (name TEXT PRIMARY KEY, value INTEGER NOT NULL)",
  ].freeze
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
    remove_range: "DELETE FROM entries WHERE id > ?1 AND id <= ?2",
    note_use: "UPDATE entries SET hits = min(hits + 1, #{HITS_BASE + MOST_HITS}), used_at = ?2 " \
              "WHERE id = ?1 AND (hits < #{HITS_BASE + MOST_HITS} OR used_at < ?3)",
    put_member: "INSERT INTO totals (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET " \
                "value = excluded.value",
    forget_members: "DELETE FROM totals WHERE name GLOB 'member:*' AND value < ?1",
    other_members: "SELECT count(*) FROM totals WHERE name GLOB 'member:*' AND name <> ?1 AND value > ?2",
    count: "SELECT count(*) FROM entries",
    page_count: "PRAGMA page_count",
    free_pages: "PRAGMA freelist_count",
    begin: "BEGIN IMMEDIATE",
    commit: "COMMIT",
  }.freeze
  VALUE, KEY, EXPIRES_AT, TOKEN = *0..3 # columns of `find`
  INDEX = 3 # column of `find_multi`

  # A page larger than a usual row wastes space; a smaller one splits it.
  PAGE_BYTES = 2048
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
  # A larger value is released after its use as a parameter, instead of being kept until the next write.
  KEPT_BINDING_BYTES = 64 * 1024
  # In a file with more pages the number of entries is estimated.
  COUNTED_PAGES = 20_000

  # @return [Array(Integer, Integer), nil] device and inode of the open file
  attr_reader :inode
  # @return [Integer] largest number of pages
  attr_reader :page_limit
  attr_reader :page_bytes, :log_bytes

  # @param row [Array, nil]
  # @return [Boolean, nil] whether it is the row of this key
  def self.same?(row, key) = row && ((stored = row[KEY]) == key || stored == key.b)

  # Creates the tables in an empty file. Called under the lock of {CacheFile}.
  def self.make(path)
    database = Tiercel::Backends::SQLite::Database.new(path)
    return if database.get_first_value("PRAGMA user_version").positive?
    database.execute("PRAGMA page_size = #{PAGE_BYTES}")
    database.execute("PRAGMA auto_vacuum = 2")
    database.transaction(:immediate) do
      database.execute("PRAGMA application_id = #{CacheFile::APPLICATION_ID}")
      database.execute("PRAGMA user_version = #{VERSION}")
      TABLES.each { |sql| database.execute(sql) }
    end
    database.execute("PRAGMA journal_mode = WAL")
  ensure
    database&.close
  end

  # Opens an existing file. Acquires no write lock, so a new process can read while others write.
  #
  # @raise [SQLite3::Exception, CacheFile::Foreign, Damaged, TooNew]
  def initialize(file, size_bytes)
    @file = file
    @inode = file.inode
    @process = Tiercel::Forks.current
    @database = Tiercel::Backends::SQLite::Database.new(file.path, flags: SQLite3::Constants::Open::READWRITE)
    check_layout
    pragma("journal_mode", "WAL") unless @database.get_first_value("PRAGMA journal_mode") == "wal"
    pragma("synchronous", 1) # after a crash of the machine, the last writes may be lost, and the file is sound
    pragma("mmap_size", MAPPED_BYTES)
    pragma("cache_size", -PAGE_CACHE_KIB)
    @page_bytes = @database.get_first_value("PRAGMA page_size")
    fit(size_bytes)
    @statements = STATEMENTS.transform_values { |sql| @database.prepare(sql) }
    @find, @set = @statements.values_at(:find, :set)
  rescue SQLite3::SQLException => error
    @database&.close
    raise Damaged, "its tables are not those of a cache: #{error.message.lines.first.delete_suffix(":\n")}"
  rescue StandardError
    @database&.close
    raise
  end

  def own? = @process == Tiercel::Forks.current

  # @return [Boolean] whether the path still leads to the open file
  def in_place? = @inode == @file.inode

  # Limits the file to `size`, or to the space that its disk has now.
  def fit(size_bytes)
    if (free = Tiercel::FreeSpace.beside(@file.path))
      all = free + @file.bytes
      size_bytes = [size_bytes, [all - [all * RESERVED_SHARE, RESERVED_BYTES].min, LEAST_BYTES].max].min.to_i
    end
    @log_bytes = (size_bytes / LOG_SHARE).clamp(LOG_BYTES)
    limit = (size_bytes - @log_bytes - SPARE_BYTES) / @page_bytes
    return if limit == @page_limit
    pragma("wal_autocheckpoint", @log_bytes / @page_bytes)
    pragma("journal_size_limit", @log_bytes)
    pragma("max_page_count", @page_limit = limit)
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
  def find_multi(ids) = rows(:find_multi, "[#{ids.join(",")}]")

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
    statement.bind_param(3, nil) if bytes.bytesize > KEPT_BINDING_BYTES
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

  # Counts the entries. An exact count reads every page, so in a large file the number is estimated. Ids are spread
  # evenly over their range, so the mean gap between neighbours gives the number.
  def entries
    return number(:count) if number(:page_count) <= COUNTED_PAGES
    samples = Array.new(8) { rows(:keys, rand(IDS), 64) }.select { |sample| sample.size > 1 }
    return 0 if samples.empty?
    gap = samples.sum { |sample| (sample.last.first - sample.first.first).fdiv(sample.size - 1) } / samples.size
    (IDS.size / gap).round
  end

  def used_pages = number(:page_count) - number(:free_pages)

  # Returns free pages at the end of the file to the disk.
  def vacuum(pages) = @database.execute("PRAGMA incremental_vacuum(#{Integer(pages)})")

  # Writes the log back and empties it, as far as other connections allow. A writer that never stops keeps SQLite's own
  # checkpoints from emptying the log.
  #
  # @return [Boolean] whether the log is empty now
  def checkpoint = @database.execute("PRAGMA wal_checkpoint(TRUNCATE)").first.first.zero?

  # @return [Boolean] whether the disk may be too full for these bytes in the log
  def disk_short?(bytes)
    free = Tiercel::FreeSpace.beside(@file.path)
    free.nil? || free < (bytes * 2) + SPARE_BYTES
  end

  def log_too_long? = @file.log_bytes > @log_bytes

  def close
    @statements.each_value(&:close)
    @database.close
  end

  private

  # An application that has taken over the file has added its own tables.
  def check_layout
    version, tables = @database.transaction(:deferred) do # both before, or both after another process creates them
      [@database.get_first_value("PRAGMA user_version"),
       @database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").flatten.grep_v(/\Asqlite_/)]
    end
    raise TooNew, "layout #{version}, this release supports up to #{VERSION}" if version > VERSION
    alien = tables - %w[entries totals]
    if alien.any?
      raise CacheFile::Foreign, "#{@file.path} has tables of another application (#{alien.join(", ")}) and stays " \
                                "unchanged: use another path"
    end
    raise CacheFile::Missing if tables.empty? && version.zero? # another process is creating it, or was killed then
    raise Damaged, "layout #{version}, tables #{tables}" if tables.size < 2 || version.zero?
  end

  def bind(name, values)
    statement = @statements.fetch(name)
    values.each_with_index { |value, index| statement.bind_param(index + 1, value) }
    statement
  end

  def pragma(name, value) = @database.execute("PRAGMA #{name} = #{value}")
end
