# frozen_string_literal: true

# Keeps the file within its size in small, bounded steps during writes: stores recorded hits, removes expired entries,
# evicts, and returns free pages.
#
# Rows lie in the random order of their ids, so a run of neighbours is a random sample. The hand visits all of them in
# turn. Each run loses its expired rows first, then the rows with the lowest expected use: long unused and seldom hit.
# This is sampled eviction as in Redis, ranked as in hyperbolic caching (Blankstein, Sen, Freedman, USENIX ATC 2017).
class Tiercel::Backends::SQLite::Housekeeping
  # Writes between two rounds. A round starts earlier once half of the log was written.
  INTERVAL = 32
  # Rows in one sample; the share of them that may be evicted; and this share in a file above its limit, where rows
  # smaller than a page free the page only together.
  SAMPLE_ROWS = 64
  EVICTED_SHARE = 0.25
  FREED_SHARE = 0.9
  # Fill levels at which hits are recorded and at which eviction begins.
  NOTING_FILL = 0.75
  EVICTING_FILL = 0.95
  # A file at its limit evicts 0.5 + URGENCY times the added bytes; at EVICTING_FILL, half of the added bytes.
  URGENCY = 3
  # Maximum number of hits recorded in memory, and number of hits that one round stores.
  MOST_NOTED = 4_096
  FLUSHED = 64
  # A use is recorded again after this share of the age at which entries are evicted.
  REFRESH_SHARE = 0.25
  ROW_OVERHEAD_BYTES = 40
  # The share of free pages that stays for reuse, and the pages that a round returns.
  SPARE_SHARE = 0.25
  VACUUMED_PAGES = 128
  BEFORE_IDS = Tiercel::Backends::SQLite::Connection::BEFORE_IDS

  # @return [Integer] entries that this process evicted
  attr_reader :evictions
  def initialize(size_bytes)
    @size_bytes = size_bytes
    @writes = @added_bytes = @written_bytes = @evictions = 0
    @most_written_bytes = Tiercel::Backends::SQLite::Connection::LOG_BYTES.first / 2
    @hand = rand(-(2**61)..2**61)
    @noted = {}
    @noting = false
    @refresh_us = 0
  end

  # Records that an entry was read from the file; a later round stores this use. A read itself never writes.
  def note(id)
    @noted[id] = true if @noting && @noted.size < MOST_NOTED
  end

  # @param written_bytes [Integer] bytes that a write added to the log
  # @param added_bytes [Integer] bytes that it added to the file, 0 if it replaced an entry
  # @return [Boolean] whether a round is due
  def due?(written_bytes, added_bytes)
    @added_bytes += added_bytes
    @written_bytes += written_bytes
    (@writes += 1) >= INTERVAL || @written_bytes > @most_written_bytes
  end

  # One round, in one transaction.
  def round(connection, now)
    connection.fit(@size_bytes)
    @most_written_bytes = connection.log_bytes / 2
    connection.transaction do
      fill = connection.used_pages.fdiv(connection.page_limit)
      @noting = fill >= NOTING_FILL
      store_uses(connection, (now * 1_000_000).to_i)
      _, @hand = connection.remove_run(@hand, SAMPLE_ROWS, now)
      evict(connection, now, fill) if fill > EVICTING_FILL
      give_back(connection)
    end
    @added_bytes = @written_bytes = @writes = 0
  end

  private

  def store_uses(connection, used_at)
    [FLUSHED, @noted.size].min.times do
      id, = @noted.shift
      connection.change(:note_use, id, used_at, used_at - @refresh_us) if id
    end
  end

  # Evicts the bytes added since the last round, times a factor that grows as the file approaches its limit, but at most
  # the bytes above {EVICTING_FILL}. The number of used pages alone would evict too much, because it does not show free
  # space inside pages.
  def evict(connection, now, fill)
    excess = fill - EVICTING_FILL
    urgency = 0.5 + (URGENCY * [excess / (1 - EVICTING_FILL), 1].min)
    bytes = [@added_bytes * urgency, excess * connection.page_limit * connection.page_bytes].min
    share = fill > 1 ? FREED_SHARE : EVICTED_SHARE
    while bytes.positive? && (rows = sample(connection)).any?
      rows.max_by((rows.size * share).ceil) { |row| staleness(row, now) }.each do |id, _, used_at, _, bytesize|
        break unless bytes.positive?
        bytes -= bytesize + ROW_OVERHEAD_BYTES
        @evictions += connection.change(:remove, id, used_at) # unless another process has changed or used the row
        @refresh_us = (((now * 1_000_000) - used_at) * REFRESH_SHARE).to_i
      end
    end
  end

  def give_back(connection)
    free = connection.number(:free_pages)
    pages = connection.number(:page_count)
    excess = [pages - connection.page_limit, free - VACUUMED_PAGES - (pages * SPARE_SHARE)].max
    connection.vacuum([excess.ceil, free, VACUUMED_PAGES].min) if excess.positive? && free.positive?
  end

  # A run of neighbours. At the end of the ids it continues with the first id: a choice among few rows would be poor.
  def sample(connection)
    rows = connection.rows(:sample, @hand, SAMPLE_ROWS)
    rows += connection.rows(:sample, BEFORE_IDS, SAMPLE_ROWS - rows.size).take_while { |row| row.first <= @hand }
    @hand = rows.empty? ? BEFORE_IDS : rows.last.first
    rows
  end

  def staleness((_, expires_at, used_at, hits), now)
    expires_at && expires_at <= now ? Float::INFINITY : ((now * 1_000_000) - used_at) / (1 + hits)
  end
end
