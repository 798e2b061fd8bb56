# frozen_string_literal: true

require "digest/md5"
require "sqlite3"

# A cache as large as the disk, in one SQLite file that all processes of a machine share: `sqlite:PATH`. See
# docs/sqlite.md.
#
# Each process has one connection under one lock: the gem holds the GVL while SQLite works, so a second connection would
# not run concurrently. The connection is opened on first use, never used after a fork, and replaced if the path leads
# to another file.
#
# If the file is busy, a call retries outside the lock and outside SQLite, so that other threads keep reading. (In
# SQLite's own busy handler, a Timeout or Thread#kill would jump across SQLite's C code.)
class Tiercel::Backends::SQLite < Tiercel::Backend
  autoload :CacheFile, "tiercel/backends/sqlite/cache_file"
  autoload :Connection, "tiercel/backends/sqlite/connection"
  autoload :Database, "tiercel/backends/sqlite/connection"
  autoload :Housekeeping, "tiercel/backends/sqlite/housekeeping"

  include Tiercel::Backends::Disk

  # Rows of one page of a scan, and of one transaction.
  PAGE_ROWS = 500
  # Calls between two checks of the path.
  CHECK_INTERVAL = 64
  PAUSE_SECONDS = 0.0003
  # Seconds for which a write tries its housekeeping on a busy file, and the pause after a write could not empty the
  # log (because of a stopped reader, for example).
  PATIENCE_SECONDS = 0.1
  LOG_PAUSE_SECONDS = 1.0
  # Seconds after which a change renews its member's row.
  RENEWED_SECONDS = 10
  # Below this size a read costs less than inflating, and disk space is cheap (adr/007-sqlite.md).
  COMPRESS_THRESHOLD_BYTES = 32 * 1024
  REFUSALS = [
    SQLite3::FullException, SQLite3::ReadOnlyException, SQLite3::PermissionException, SQLite3::TooBigException,
    Errno::EACCES, Errno::EPERM, Errno::EROFS, Errno::ENOSPC, Tiercel::ConfigurationError,
  ].freeze
  FAILURES = [SQLite3::Exception, SystemCallError].freeze

  # @return [Array<Symbol>] names of the options of {.build}
  def self.option_names = Tiercel::Options.of(:sqlite)

  # @param url [BackendURL] `sqlite:PATH`, relative to the current folder or absolute
  # @raise [ConfigurationError]
  def self.build(url, options) = new(url.place, **options)

  # @param size [Integer, String] bytes on disk, with the write-ahead log
  # @param timeout [Numeric] the time budget of a call, in seconds
  # @raise [ConfigurationError] also for a file that is not a cache of this user; such a file stays unchanged
  def initialize(path, size: nil, timeout: nil)
    super()
    if path.to_s.empty?
      raise Tiercel::ConfigurationError, "sqlite: expected a path, such as \"sqlite:storage/cache.sqlite3\", got none"
    end
    @size_bytes, @timeout_seconds = Tiercel::Options.values(:sqlite, { size:, timeout: }).values_at(:size, :timeout)
    @file = CacheFile.new(path.to_s, @timeout_seconds)
    begin
      @file.verify
    rescue Tiercel::Refused, SQLite3::Exception, SystemCallError
      nil # the first call reports the error
    end
    @housekeeping = Housekeeping.new(@size_bytes)
    @ids = digests { |key| Digest::MD5.digest(key).unpack1("q") >> 1 }
    @lock = Mutex.new
    @calls = @hit_count = @miss_count = 0
    @member = "member:plain"
  end

  def get(key)
    row = read(key)
    row[Connection::VALUE] if row
  end

  def get_with_token(key)
    row = read(key)
    row.values_at(Connection::VALUE, Connection::TOKEN) if row
  end

  def get_multi(keys)
    ids = keys.map { |key| @ids[key] }
    rows = attempt { |connection| connection.find_multi(ids) }
    @miss_count += keys.size - rows.size
    rows.each_with_object({}) do |row, found|
      key = keys[index = row[Connection::INDEX]]
      row = counted(Connection.same?(row, key) ? row : nil, ids[index])
      found[key] = row[Connection::VALUE] if row
    end
  end

  def set(key, bytes, ttl = nil)
    return refuse(key) if too_large?(bytes)
    now = Tiercel::Clock.now
    write(key, key.bytesize + bytes.bytesize, now) { |connection| put(connection, key, bytes, ttl, now) }
    true
  end

  # Transactions of at most {PAGE_ROWS} rows, and of few rows if one of them is large.
  def set_multi(pairs, ttl = nil)
    large, small = pairs.partition { |_, bytes| too_large?(bytes) }
    large.each { |key, _| refuse(key) }
    now = Tiercel::Clock.now
    largest = small.map { |_, bytes| bytes.bytesize }.max.to_i + 1
    small.each_slice((largest_bytes / largest).clamp(1, PAGE_ROWS)) do |rows|
      write(nil, rows.sum { |key, bytes| key.bytesize + bytes.bytesize }, now) do |connection|
        connection.transaction do
          rows.map { |key, bytes| put(connection, key, bytes, ttl, now) }.any?
        end
      end
    end
    large.empty?
  end

  def add(key, bytes, ttl = nil)
    return false if too_large?(bytes)
    now = Tiercel::Clock.now
    write(key, key.bytesize + bytes.bytesize, now) do |connection|
      connection.change(:add, @ids[key], blob(key), blob(bytes), expiry(ttl, now), next_token, micros(now), now) == 1
    end
  end

  def compare_and_set(key, bytes, token, ttl = nil)
    return false if too_large?(bytes) || !token.is_a?(Integer)
    now = Tiercel::Clock.now
    write(key, bytes.bytesize, now) do |connection|
      connection.change(:compare_and_set, @ids[key], blob(key), now, blob(bytes), expiry(ttl, now), next_token,
                        micros(now), token) == 1
    end
  end

  def delete(key)
    now = Tiercel::Clock.now
    change(key, now) { |connection| connection.change(:delete, @ids[key], blob(key), now) == 1 }
  end

  def delete_multi(keys)
    now = Tiercel::Clock.now
    keys.each_slice(PAGE_ROWS).sum do |slice|
      change(nil, now) do |connection|
        connection.transaction do
          slice.count { |key| connection.change(:delete, @ids[key], blob(key), now) == 1 }
        end
      end
    end
  end

  def increment(key, amount = 1, ttl = nil)
    now = Tiercel::Clock.now
    count = nil
    write(key, key.bytesize, now) do |connection|
      connection.transaction do
        row = connection.find(@ids[key], key)
        row = nil if row && row[Connection::EXPIRES_AT]&.<=(now)
        count = row ? Tiercel::Counter.add(row[Connection::VALUE], amount, key) : Tiercel::Counter.in_range(amount, key)
        expires_at = row ? row[Connection::EXPIRES_AT] : expiry(ttl, now)
        connection.set(@ids[key], blob(key), count.to_s.b, expires_at, next_token, micros(now))
      end
    end
    count
  end

  def touch(key, ttl)
    now = Tiercel::Clock.now
    change(key, now) do |connection|
      connection.change(:touch, @ids[key], blob(key), now, expiry(ttl, now)) == 1
    end
  end

  # Reads page by page in the order of the ids, and holds no lock between two pages.
  def scan(prefix = nil)
    return to_enum(:scan, prefix) unless block_given?
    prefix = prefix&.b
    last = Connection::BEFORE_IDS
    while true # `loop` would swallow a StopIteration of the caller's block
      rows = attempt { |connection| connection.rows(:keys, last, PAGE_ROWS) }
      return if rows.empty?
      now = Tiercel::Clock.now
      rows.each do |_, key, expires_at|
        yield key if (expires_at.nil? || expires_at > now) && (prefix.nil? || key.start_with?(prefix))
      end
      last = rows.last.first
    end
  end

  # @return [Integer] how many expired entries were removed
  def cleanup = remove_rows(Tiercel::Clock.now)

  # @return [Hash{Symbol => Integer}] :entries (estimated in a large file), :bytes in use, :disk_bytes of the file;
  #   :hits, :misses and :evictions of this process
  def stats
    attempt do |connection|
      { entries: connection.entries, bytes: connection.used_pages * connection.page_bytes,
        disk_bytes: connection.number(:page_count) * connection.page_bytes,
        hits: @hit_count, misses: @miss_count, evictions: @housekeeping.evictions }
    end
  end

  def close = @lock.synchronize { drop }

  # @private
  # Removes the files of the cache, if the file is a cache.
  def remove_files
    close
    @file.remove
  end

  def compress_threshold_bytes = COMPRESS_THRESHOLD_BYTES

  # SQLite databases usually trust the disk; `checksum: true` adds a checksum.
  def checksum? = false

  def to_s = "sqlite:#{@file.path}"

  # --- behind near tiers ---

  # @private
  # @param name [String] the near segment to which this process' changes are attributed
  def member_name=(name)
    name = "member:#{name}"
    @member, @renewed_at = name, nil unless name == @member
  end

  # @private
  # @param since [Float] epoch seconds
  # @return [Boolean] whether a process outside the near segment may have changed the file since then
  def others_since?(since)
    since_ms = ((since - RENEWED_SECONDS) * 1_000).to_i
    attempt { |connection| connection.number(:other_members, @member, since_ms).positive? }
  end

  private

  # --- rows ---

  def read(key)
    id = @ids[key]
    counted(attempt(key) { |connection| connection.find(id, key) }, id)
  end

  def counted(row, id)
    if row.nil? || ((expires_at = row[Connection::EXPIRES_AT]) && expires_at <= Tiercel::Clock.now)
      @miss_count += 1
      return
    end
    @hit_count += 1
    @housekeeping.note(id)
    row
  end

  # @return [Boolean] whether the row is the one that this connection has inserted last
  def put(connection, key, bytes, ttl, now)
    connection.set(@ids[key], blob(key), blob(bytes), expiry(ttl, now), next_token, micros(now))
  end

  def blob(string) = string.encoding == Encoding::BINARY ? string : string.b
  def expiry(ttl, now) = ttl && (now + ttl).to_f
  def micros(now) = (now * 1_000_000).to_i

  def clear_all = remove_rows

  # Removes all rows, or the expired ones, in short transactions. Then returns the free pages and the space of the log.
  def remove_rows(expired_at = nil)
    removed = 0
    last = Connection::BEFORE_IDS
    loop do
      count, last = change(nil, Tiercel::Clock.now) { |connection| connection.remove_run(last, PAGE_ROWS, expired_at) }
      removed += count
      break if last == Connection::BEFORE_IDS
    end
    free = attempt { |connection| connection.number(:free_pages) }
    (free.fdiv(PAGE_ROWS)).ceil.times { attempt { |connection| connection.vacuum(PAGE_ROWS) } }
    attempt(&:empty_log)
    removed
  end

  # --- the file ---

  # Runs a change that may add rows, and then housekeeping.
  #
  # @yieldreturn [Boolean] whether bytes were added. True also if the newest row was replaced, which costs no entry:
  #   {Housekeeping} evicts only while the file is nearly full.
  def write(key, bytes, now, &)
    added = change(key, now, &)
    keep_house(now) if @housekeeping.due?(bytes, added ? bytes : 0)
    added
  end

  # The write has succeeded, so errors are ignored; the next call meets them and reports them.
  #
  # SQLite writes the log back by itself, but empties it only while no process writes, so several writers let it grow
  # without bound. All processes that find the log too long therefore stop writing until one of them has emptied it.
  def keep_house(now)
    attempt(patience_seconds: PATIENCE_SECONDS) { |connection| @housekeeping.round(connection, now) }
    tried_at = Tiercel::Clock.monotonic
    return if @log_stuck_until&.>(tried_at)
    @log_stuck_until = tried_at + LOG_PAUSE_SECONDS
    attempt(patience_seconds: PATIENCE_SECONDS, &:shorten_log)
    @log_stuck_until = nil
  rescue Tiercel::BackendError
    nil
  end

  # Runs the block as a change of the file, after its member's registration.
  def change(key, now)
    attempt(key) { |connection| yield register(connection, now) }
  end

  # Each near segment is a member, and all processes without one are another. The row is renewed so rarely that it
  # costs nothing.
  def register(connection, now)
    return connection if @renewed_at && (now - @renewed_at).abs < RENEWED_SECONDS
    connection.change(:put_member, @member, (now * 1_000).to_i)
    @renewed_at = now
    connection
  end

  # Runs the block with the connection, under the lock. Retries on a busy file until the time budget is over.
  #
  # @raise [BackendError]
  def attempt(key = nil, patience_seconds: @timeout_seconds)
    give_up_at = nil
    begin
      @lock.synchronize do
        yield current_connection
      rescue *CacheFile::DAMAGE => error
        set_aside(error, key)
      end
    rescue SQLite3::BusyException, SQLite3::LockedException
      give_up_at ||= Tiercel::Clock.monotonic + patience_seconds
      raise Tiercel::FileLock::Busy if Tiercel::Clock.monotonic >= give_up_at
      sleep(PAUSE_SECONDS * (0.5 + rand))
      retry
    end
  rescue StandardError => error
    raise translated(error, key)
  end

  def current_connection
    current = @connection
    return current if current&.own? && ((@calls += 1) % CHECK_INTERVAL != 0 || @inode == @file.inode)
    drop
    Database.discard_inherited
    @file.create unless @file.verify
    @inode = @file.inode # before it is opened: another process may replace a damaged file now
    @connection = Connection.new(@file, @size_bytes)
  end

  # Closes the connection, unless it is inherited: closing its statements could then affect the parent's locks.
  def drop
    @connection.close if @connection&.own?
    @connection = @renewed_at = nil
  end

  def set_aside(error, key)
    drop
    raise Tiercel::Refused.new("the file is damaged (#{error.message}) and was moved to #{@file.set_aside(@inode)}; " \
                               "a new one takes its place", backend: to_s, key:)
  end
end
