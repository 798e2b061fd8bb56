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
end

class Tiercel::Backends::SQLite
  Disk = Tiercel::Backends::Disk
  # Rows of one page of a scan, and of one transaction.
  PAGE_ROWS = 500
  # Calls between two checks of the path.
  CHECK_INTERVAL = 64
  # Attempts to create a file that other processes remove, and to make room for one write. Each attempt makes more room
  # than the one before, because rows do not fill their pages and other processes write too.
  ATTEMPTS = 4
  PAUSE_SECONDS = 0.0003
  # Maximum time for which a write helps to empty a long log, and the pause after a failed attempt. A stopped reader,
  # for example, keeps the log long.
  LOG_PATIENCE_SECONDS = 0.1
  LOG_PAUSE_SECONDS = 1.0
  # Seconds after which a change renews its member's row, and after which an unused row is deleted.
  RENEWED_SECONDS = 10
  FORGOTTEN_SECONDS = 86_400
  # Below this size a read costs less than inflating, and disk space is cheap (adr/007-sqlite.md).
  COMPRESS_THRESHOLD_BYTES = 32 * 1024
  REFUSALS = [
    SQLite3::FullException, SQLite3::ReadOnlyException, SQLite3::PermissionException, SQLite3::AuthorizationException,
    SQLite3::TooBigException, SQLite3::ConstraintException, Errno::EACCES, Errno::EPERM, Errno::EROFS, Errno::ENOSPC,
    CacheFile::Foreign, CacheFile::Closed, Connection::TooNew,
  ].freeze
  BUSY = [SQLite3::BusyException, SQLite3::LockedException].freeze

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
    rescue CacheFile::Foreign => error
      raise Tiercel::ConfigurationError, "sqlite: #{error.message}"
    rescue CacheFile::Missing, CacheFile::Closed, SystemCallError
      nil # the first call creates the file or reports the error
    end
    @housekeeping = Housekeeping.new(@size_bytes)
    @ids = Disk::KeyMemo.new { |key| Digest::MD5.digest(key).unpack1("q") >> 1 }
    @tokens = Disk::Tokens.new
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
    added = write(key, bytes.bytesize) { |connection| put(connection, key, bytes, ttl, now) }
    keep_house(key.bytesize + bytes.bytesize, added, now)
    true
  end

  # Transactions of at most {PAGE_ROWS} rows and of the bytes of one large value.
  def set_multi(pairs, ttl = nil)
    large, small = pairs.partition { |_, bytes| too_large?(bytes) }
    large.each { |key, _| refuse(key) }
    now = Tiercel::Clock.now
    batches(small).each do |batch|
      bytesize = batch.sum { |key, bytes| key.bytesize + bytes.bytesize }
      added = false
      write(nil, bytesize) do |connection|
        connection.transaction do
          added = batch.map { |key, bytes| put(connection, key, bytes, ttl, now) }.any?
        end
      end
      keep_house(bytesize, added, now)
    end
    large.empty?
  end

  def add(key, bytes, ttl = nil)
    return false if too_large?(bytes)
    now = Tiercel::Clock.now
    added = write(key, bytes.bytesize) do |connection|
      connection.change(:add, @ids[key], blob(key), blob(bytes), expiry(ttl, now), @tokens.next, micros(now), now) == 1
    end
    keep_house(key.bytesize + bytes.bytesize, added, now)
    added
  end

  def compare_and_set(key, bytes, token, ttl = nil)
    return false if too_large?(bytes) || !token.is_a?(Integer)
    now = Tiercel::Clock.now
    written = write(key, bytes.bytesize) do |connection|
      connection.change(:compare_and_set, @ids[key], blob(key), now, blob(bytes), expiry(ttl, now), @tokens.next,
                        micros(now), token) == 1
    end
    keep_house(bytes.bytesize, false, now)
    written
  end

  def delete(key)
    now = Tiercel::Clock.now
    change(key) { |connection| connection.change(:delete, @ids[key], blob(key), now) == 1 }
  end

  def delete_multi(keys)
    now = Tiercel::Clock.now
    keys.each_slice(PAGE_ROWS).sum do |slice|
      change do |connection|
        connection.transaction do
          slice.count { |key| connection.change(:delete, @ids[key], blob(key), now) == 1 }
        end
      end
    end
  end

  def increment(key, amount = 1, ttl = nil)
    now = Tiercel::Clock.now
    count = nil
    added = write(key, 0) do |connection|
      connection.transaction do
        row = connection.find(@ids[key], key)
        row = nil if row && row[Connection::EXPIRES_AT]&.<=(now)
        count = row ? Tiercel::Counter.add(row[Connection::VALUE], amount, key) : Tiercel::Counter.in_range(amount, key)
        expires_at = row ? row[Connection::EXPIRES_AT] : expiry(ttl, now)
        connection.set(@ids[key], blob(key), count.to_s.b, expires_at, @tokens.next, micros(now))
      end
    end
    keep_house(key.bytesize, added, now)
    count
  end

  def touch(key, ttl)
    now = Tiercel::Clock.now
    # A new expiry may lengthen a large row, which then needs pages for a copy.
    write(key, @size_bytes / Disk::LARGEST_VALUE_SHARE / ATTEMPTS) do |connection|
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
  def cleanup
    removed = 0
    last = Connection::BEFORE_IDS
    while (count, last = attempt do |connection|
      @housekeeping.remove_expired(connection, last, Tiercel::Clock.now)
    end)
      removed += count
    end
    give_back
    removed
  end

  # @return [Hash{Symbol => Integer}] :entries (estimated in a large file), :bytes in use, :disk_bytes of the file;
  #   :hits, :misses and :evictions of this process
  def stats
    attempt do |connection|
      { entries: connection.entries, bytes: connection.used_pages * connection.page_bytes,
        disk_bytes: connection.number(:page_count) * connection.page_bytes,
        hits: @hit_count, misses: @miss_count, evictions: @housekeeping.evictions }
    end
  end

  def close
    @housekeeping.forget
    @lock.synchronize { drop }
  end

  # @private
  # Removes the files of the cache, if the file is one.
  def remove_files
    close
    @file.remove
  end

  def compress_threshold_bytes = COMPRESS_THRESHOLD_BYTES

  # SQLite databases usually trust the disk; `checksum: true` adds a checksum.
  def checksum? = false

  # @private
  # @return [Integer] evictions by this process
  def evictions = @housekeeping.evictions

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

  # @return [Boolean] whether the row was inserted: now, or just before
  def put(connection, key, bytes, ttl, now)
    connection.set(@ids[key], blob(key), blob(bytes), expiry(ttl, now), @tokens.next, micros(now))
  end

  def blob(string) = string.encoding == Encoding::BINARY ? string : string.b
  def expiry(ttl, now) = ttl && (now + ttl).to_f
  def micros(now) = (now * 1_000_000).to_i
  def too_large?(bytes) = bytes.bytesize > @size_bytes / Disk::LARGEST_VALUE_SHARE

  def refuse(key)
    delete(key)
    false
  end

  # @return [Enumerator<Array>] a pair larger than a batch gets its own batch
  def batches(pairs)
    rows = bytes = 0
    pairs.slice_before do |key, value|
      rows += 1
      bytes += added = key.bytesize + value.bytesize
      next false if rows <= PAGE_ROWS && bytes <= @size_bytes / Disk::LARGEST_VALUE_SHARE
      rows, bytes = 1, added
      true
    end
  end

  def clear_all
    last = Connection::BEFORE_IDS
    while last
      last = change do |connection|
        ids = connection.rows(:keys, last, PAGE_ROWS)
        connection.change(:remove_range, last, ids.last.first) if ids.any?
        ids.last&.first
      end
    end
    give_back
  end

  # Returns all free pages in several steps, and the space of the log.
  def give_back
    free = nil
    while true
      before = free
      free = attempt do |connection|
        connection.vacuum(connection.log_bytes / connection.page_bytes / 2)
        connection.number(:free_pages)
      end
      break if free.zero? || (before && free >= before)
    end
    attempt(&:checkpoint)
  end

  # --- the file ---

  # Runs the block. If the file is full, makes room and runs the block again.
  def write(key, bytesize, &block)
    attempts = 0
    begin
      change(key, &block)
    rescue Tiercel::Refused => error
      raise unless error.cause.is_a?(SQLite3::FullException) && (attempts += 1) <= ATTEMPTS
      give_up_at ||= Tiercel::Clock.monotonic + @timeout_seconds
      raise unless make_room(key, bytesize * attempts, give_up_at)
      retry
    end
  end

  # Eviction writes to the log too. If the disk is full, the log is emptied first, once no other process reads it.
  def make_room(key, bytes, give_up_at)
    emptied = false
    while !emptied && attempt(key) { |connection| connection.disk_short?(bytes) && !(emptied = connection.checkpoint) }
      break if Tiercel::Clock.monotonic >= give_up_at
      sleep(PAUSE_SECONDS)
    end
    attempt(key) { |connection| @housekeeping.make_room(connection, bytes, give_up_at) } || emptied
  rescue Tiercel::Refused => error
    raise unless error.cause.is_a?(SQLite3::FullException)
    emptied
  end

  # The write has succeeded, so errors of the round are ignored; the next call meets them and reports them.
  #
  # @param added [Boolean] whether the write added rows. Where the newest row is replaced, this is true too, and costs
  #   no entry: {Housekeeping} evicts only while the file is nearly full.
  def keep_house(bytes, added, now)
    return unless @housekeeping.due?(bytes, added ? bytes : 0)
    begin
      attempt(patience_seconds: 0.0) { |connection| @housekeeping.round(connection, now) }
    rescue Tiercel::BackendError
      nil
    end
    shorten_log
  end

  # SQLite writes the log back by itself, but empties it only while no process writes, so several writers let it grow
  # without bound. All processes that find the log too long therefore stop writing until one of them has emptied it.
  def shorten_log
    give_up_at = Tiercel::Clock.monotonic + [@timeout_seconds, LOG_PATIENCE_SECONDS].min
    return if @log_stuck_until&.>(give_up_at)
    until attempt(patience_seconds: 0.0) { |connection| !connection.log_too_long? || connection.checkpoint }
      return @log_stuck_until = give_up_at + LOG_PAUSE_SECONDS if Tiercel::Clock.monotonic >= give_up_at
      sleep(PAUSE_SECONDS * (0.5 + rand))
    end
  rescue Tiercel::BackendError
    nil
  end

  # Runs the block as a change of the file, after its member's registration.
  def change(key = nil)
    attempt(key) { |connection| yield connection.tap { register(connection) } }
  end

  # Each near segment is a member, and all processes without one are another. The row is renewed so rarely that it
  # costs nothing.
  def register(connection)
    now = Tiercel::Clock.now
    return if @renewed_at && (now - @renewed_at).abs < RENEWED_SECONDS && connection.equal?(@member_connection)
    connection.change(:put_member, @member, (now * 1_000).to_i)
    connection.change(:forget_members, ((now - FORGOTTEN_SECONDS) * 1_000).to_i)
    @member_connection, @renewed_at = connection, now
  rescue SQLite3::FullException
    nil # the change itself meets the same error next
  end

  # Runs the block with the connection, under the lock. Retries on a busy file until the time budget is over.
  #
  # @raise [BackendError]
  def attempt(key = nil, patience_seconds: @timeout_seconds)
    created = 0
    give_up_at = missing = nil
    begin
      missing &&= @file.create { |path| Connection.make(path) } && nil
      @lock.synchronize do
        yield current_connection
      end
    rescue *BUSY
      give_up_at ||= Tiercel::Clock.monotonic + patience_seconds
      raise Tiercel::FileLock::Busy if Tiercel::Clock.monotonic >= give_up_at
      sleep(PAUSE_SECONDS * (0.5 + rand))
      retry
    rescue CacheFile::Missing
      raise if (created += 1) > ATTEMPTS
      missing = true
      retry
    end
  rescue Tiercel::FileLock::Busy
    raise Tiercel::TimedOut.new("locked for more than #{(@timeout_seconds * 1000).round} ms", backend: to_s, key:)
  rescue *CacheFile::DAMAGE, Connection::Damaged => error
    set_aside(error, key)
  rescue CacheFile::Foreign, CacheFile::Closed => error
    raise Tiercel::Refused.new(error.message, backend: to_s, key:)
  rescue *REFUSALS => error
    raise Tiercel::Refused.new("#{error.class}: #{error.message}", backend: to_s, key:)
  rescue SQLite3::Exception, SystemCallError, CacheFile::Missing => error
    raise Tiercel::Unavailable.new("#{error.class}: #{error.message}", backend: to_s, key:)
  end

  def current_connection
    current = @connection
    if current&.own?
      return current if (@calls += 1) % CHECK_INTERVAL != 0 || current.in_place?
      drop
    end
    Database.discard_inherited
    @file.verify
    @opened_inode = @file.inode
    @connection = Connection.new(@file, @size_bytes)
  end

  # Closes the connection, unless it is inherited: closing its statements could then affect the parent's locks.
  def drop
    @connection.close if @connection&.own?
    @connection = nil
  end

  # Acquires the file's lock without this object's lock, because other callers acquire them in that order. By now
  # another process may have put a new file in the place of the damaged one.
  def set_aside(error, key)
    damaged = @lock.synchronize { (@connection&.inode || @opened_inode).tap { drop } }
    moved_to = @file.set_aside(damaged)
    fate = moved_to ? "moved to #{moved_to}; a new one takes its place" : "replaced; it is opened again"
    raise Tiercel::Refused.new("the file is damaged (#{error.message}) and was #{fate}", backend: to_s, key:)
  rescue SystemCallError, Tiercel::FileLock::Busy => failure
    raise Tiercel::Unavailable.new("the file is damaged (#{error.message}) and cannot be moved: #{failure.message}",
                                   backend: to_s, key:)
  end
end
