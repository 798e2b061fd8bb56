# frozen_string_literal: true

# Keeps the file within its size in small, bounded steps during writes: stores recorded hits, removes expired entries,
# evicts, and returns free pages.
#
# Rows lie in the random order of their ids, so a run of neighbours is a random sample. The hand visits all of them in
# turn. Each run loses its expired rows first, then the rows with the lowest expected use: long unused and seldom hit.
# This is sampled eviction as in Redis, ranked as in hyperbolic caching (Blankstein, Sen, Freedman, USENIX ATC 2017).
class Tiercel::Backends::SQLite::Housekeeping
  # Writes between two rounds. A round starts earlier once this share of the limit was added.
  INTERVAL = 32
  EARLY_SHARE = 1.0 / 64
  # Rows in one sample, samples in one round, and the share of a sample that one round evicts.
  SAMPLE_ROWS = 64
  SAMPLES = 12
  EVICTED_SHARE = 0.25
  # Fill levels at which hits are recorded and at which eviction begins.
  NOTING_FILL = 0.75
  EVICTING_FILL = 0.96
  # Factor for a nearly full file: at its limit, it evicts this many times the bytes that were added.
  URGENCY = 3
  # Maximum number of hits recorded in memory, and number of hits that one round stores.
  MOST_NOTED = 4_096
  FLUSHED = 64
  # A use is recorded again after this share of the age at which entries are evicted.
  REFRESH_SHARE = 0.25
  ROW_OVERHEAD_BYTES = 40
  # Rounds between two checks of the space on the disk.
  FITTING_ROUNDS = 32
  # The share of free pages that stays for reuse, and the pages that a round returns.
  SPARE_SHARE = 0.25
  VACUUMED_PAGES = 128
  SPARE_PAGES = 16

  # @return [Integer] entries that this process evicted
  attr_reader :evictions
  # @return [Boolean] whether reads are recorded: only a nearly full file evicts
  attr_reader :noting

  def initialize(size_bytes)
    @size_bytes = size_bytes
    @writes = @added_bytes = @logged_bytes = @evictions = @rounds = 0
    @most_logged_bytes = Tiercel::Backends::SQLite::Connection::LOG_BYTES.first / 2
    @hand = rand(-(2**61)..2**61)
    @noted = {}
    @noting = false
    @refresh_us = 0
  end

  # Records that an entry was read from the file; a later round stores it. A read itself never writes.
  def note(id)
    @noted[id] = true if @noting && @noted.size < MOST_NOTED
  end

  def forget = @noted.clear

  # @param written_bytes [Integer] bytes that a write added to the log
  # @param added_bytes [Integer] bytes that it added to the file, 0 if it replaced an entry
  # @return [Boolean] whether a round is due
  def due?(written_bytes, added_bytes)
    @added_bytes += added_bytes
    @logged_bytes += written_bytes
    (@writes += 1) >= INTERVAL || @added_bytes > @size_bytes * EARLY_SHARE || @logged_bytes > @most_logged_bytes
  end

  # One round, in one transaction.
  def round(connection, now)
    added = @added_bytes
    @added_bytes = @logged_bytes = @writes = 0
    connection.fit(@size_bytes) if ((@rounds += 1) % FITTING_ROUNDS).zero?
    @most_logged_bytes = connection.log_bytes / 2
    connection.transaction do
      fill = connection.used_pages.fdiv(connection.page_limit)
      @noting = fill >= NOTING_FILL
      used_at = (now * 1_000_000).to_i
      Array.new([FLUSHED, @noted.size].min) { @noted.shift }.compact.each do |id, _|
        connection.change(:note_use, id, used_at, used_at - @refresh_us)
      end
      sweep(connection, now, wanted_bytes(added, fill))
      free = connection.number(:free_pages)
      pages = connection.number(:page_count)
      if pages > connection.page_limit || free > VACUUMED_PAGES + (pages * SPARE_SHARE)
        connection.vacuum([free, VACUUMED_PAGES].min)
      end
    end
  end

  # Frees pages for one write that found none. Rows smaller than a page all go, in runs of neighbours, because a page
  # becomes free only without any row. Larger rows have their own pages, so those with the lowest use go first.
  #
  # @return [Boolean] false if the cache is far below its limit, or empty: then other programs fill the disk
  def make_room(connection, bytes, give_up_at)
    connection.fit(@size_bytes)
    pages = (bytes * 1.03 / connection.page_bytes).ceil + SPARE_PAGES
    used = connection.number(:page_count)
    room = connection.page_limit - used + connection.number(:free_pages)
    return false if used < connection.page_limit * EVICTING_FILL && room >= pages * 2
    freed = false
    until connection.number(:free_pages) >= pages || Tiercel::Clock.monotonic >= give_up_at
      found = connection.transaction { SAMPLES.times.all? { clear_run(connection, pages) } }
      freed ||= found
      break unless found
    end
    freed || connection.number(:free_pages) >= pages
  end

  # Removes the expired rows of the next run.
  #
  # @return [Array(Integer, Integer), nil] number of removed rows and the last id; nil at the end
  def remove_expired(connection, after_id, now)
    rows = connection.rows(:sample, after_id, SAMPLE_ROWS * 8)
    return if rows.empty?
    expired = rows.select { |row| expired?(row, now) }
    [connection.transaction { remove(connection, expired) }, rows.last.first]
  end

  private

  # The bytes added since the last round, multiplied as the file approaches its limit. The number of used pages alone
  # would evict too much, because it does not show free space inside pages.
  def wanted_bytes(added, fill)
    return 0 if fill < EVICTING_FILL
    (added * (0.5 + (URGENCY * (fill - EVICTING_FILL) / (1 - EVICTING_FILL)))).ceil
  end

  def sweep(connection, now, bytes)
    SAMPLES.times do
      rows = sample(connection)
      expired, alive = rows.partition { |row| expired?(row, now) }
      remove(connection, expired)
      bytes -= bytes_of(expired)
      break if bytes <= 0
      alive.max_by((alive.size * EVICTED_SHARE).ceil) { |row| staleness(row, now) }.each do |row|
        break if bytes <= 0
        bytes -= bytes_of([row])
        @evictions += remove(connection, [row])
        @refresh_us = (((now * 1_000_000) - row[2]) * REFRESH_SHARE).to_i
      end
      break if bytes <= 0
    end
  end

  # @return [Boolean] false if nothing is left
  def clear_run(connection, pages)
    return true if connection.number(:free_pages) >= pages
    rows = sample(connection)
    return false if rows.empty?
    if bytes_of(rows) < rows.size * connection.page_bytes
      rows.chunk_while { |row, following| row.first < following.first }.each do |run|
        @evictions += connection.change(:remove_range, run.first.first - 1, run.last.first)
      end
    else
      now = Tiercel::Clock.now
      rows.sort_by { |row| expired?(row, now) ? -Float::INFINITY : -staleness(row, now) }.each do |row|
        break if connection.number(:free_pages) >= pages
        @evictions += remove(connection, [row])
      end
    end
    true
  end

  # A run of neighbours. At the end of the ids it continues with the first id: a choice among few rows would be poor.
  def sample(connection)
    from = @hand
    rows = connection.rows(:sample, from, SAMPLE_ROWS)
    before = Tiercel::Backends::SQLite::Connection::BEFORE_IDS
    if rows.size < SAMPLE_ROWS && from != before
      rows += connection.rows(:sample, before, SAMPLE_ROWS - rows.size).take_while { |row| row.first <= from }
    end
    @hand = rows.empty? ? before : rows.last.first
    rows
  end

  # Rows that another process has rewritten or used since the sample stay.
  def remove(connection, rows) = rows.sum { |row| connection.change(:remove, row[0], row[2]) }

  def staleness(row, now) = ((now * 1_000_000) - row[2]) / (1 + row[3])
  def expired?(row, now) = row[1] && row[1] <= now
  def bytes_of(rows) = rows.sum { |row| row[4] + ROW_OVERHEAD_BYTES }
end
