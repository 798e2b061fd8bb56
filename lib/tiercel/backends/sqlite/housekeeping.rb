# frozen_string_literal: true

require_relative "../../clock"
require_relative "hits"
require_relative "schema"

module Tiercel
  module Backends
    class SQLite < Backend
      # Keeps the file within its limits in small, bounded steps during writes: stores recorded hits, removes expired
      # entries, evicts, and returns free pages.
      #
      # Rows lie in the random order of their ids, so a run of neighbours is a random sample. The hand visits all of
      # them in turn. Each run loses its expired rows first, then the rows with the lowest expected use: long unused
      # and seldom hit. This is sampled eviction as in Redis, ranked as in hyperbolic caching (Blankstein, Sen,
      # Freedman, USENIX ATC 2017).
      class Housekeeping
        # Number of writes between two rounds. A round starts earlier once this fraction of `size` was added.
        INTERVAL = 32
        EARLY_SHARE = 1.0 / 64
        # Rows in one sample, and samples in one round.
        SAMPLE_ROWS = 64
        LOOKS = 12
        # Unless space is urgent, at most this fraction of each sample is evicted, so that the choice stays selective.
        EVICTED_SHARE = 0.25
        # Recorded hits that one round stores.
        FLUSHED_HITS = 64
        # Fill levels at which hits are recorded and at which eviction begins.
        NOTING_FILL = 0.75
        EVICTING_FILL = 0.96
        # At its limit, the file evicts this many times the bytes that were added.
        URGENCY = 3
        # Pages that stay free after space was made for one write; and the bytes of a page that hold no data.
        SPARE_PAGES = 16
        PAGE_OVERHEAD = 1.03
        # Fraction of the file that may be free pages for reuse, and the number of pages returned in a round.
        SPARE_SHARE = 0.25
        VACUUMED_PAGES = 128
        # Fraction of the log that one step of returning pages may fill.
        SHRINKING_SHARE = 0.5
        # A use is recorded again after this fraction of the entries' usual lifetime.
        REFRESH_SHARE = 0.25

        # @return [Integer] entries that this process evicted
        attr_reader :evictions

        # @param settings [Settings]
        # @param hits [Hits]
        def initialize(settings, hits)
          @settings = settings
          @hits = hits
          @interval = settings.max_entries ? (settings.max_entries / 20).clamp(1, INTERVAL) : INTERVAL
          @writes = @added_bytes = @evictions = 0
          @hand = rand(-(2**61)..2**61)
        end

        # @param added_bytes [Integer] bytes that a write added, 0 if it replaced an entry
        # @return [Boolean] whether a round is due
        def due?(added_bytes)
          @added_bytes += added_bytes
          (@writes += 1) >= @interval || @added_bytes > @settings.size_bytes * EARLY_SHARE
        end

        # Runs one round. Most rounds find nothing to do, so it checks before it locks the file.
        #
        # @param connection [Connection]
        # @param now [Float]
        def round(connection, now)
          @writes = 0
          connection.fit(@settings)
          return @added_bytes = 0 unless connection.transaction(:begin) { work?(connection, now) }
          connection.transaction do
            flush_hits(connection, now)
            sweep(connection, now, wanted_bytes(connection), wanted_entries(connection))
            give_back(connection)
          end
        end

        # Makes space immediately after a write found no free page. This is rare, because rounds keep the fill at
        # {EVICTING_FILL}.
        #
        # @param connection [Connection]
        # @param bytes [Integer] number of bytes to free
        # @param give_up_at [Float] a time of the monotonic clock
        # @return [Boolean] false if the disk is full and this cache occupies next to nothing of it, so that evicting
        #   would not help
        def make_room(connection, bytes, give_up_at)
          connection.fit(@settings)
          wanted_pages = (bytes * PAGE_OVERHEAD / connection.page_size_bytes).ceil + SPARE_PAGES
          return false if room?(connection, wanted_pages)
          until enough?(connection, wanted_pages) || Clock.monotonic >= give_up_at
            break unless connection.transaction { clear_runs(connection, wanted_pages) }
          end
          true
        end

        # Returns free pages to the disk, in steps small enough to keep the log short.
        #
        # @return [Integer] number of free pages left
        def shrink(connection)
          connection.vacuum([(@settings.wal_bytes * SHRINKING_SHARE / connection.page_size_bytes).to_i, 1].max)
          connection.number(:free_pages)
        end

        # Removes the expired rows of the next run.
        #
        # @param after_id [Integer]
        # @return [Array(Integer, Integer), nil] number of removed rows and the last id; nil at the end
        def remove_ended(connection, after_id, now)
          rows = connection.rows(:sample, after_id, SAMPLE_ROWS * 8)
          return if rows.empty?
          ended = rows.select { |row| ended?(row, now) }
          count = connection.transaction { drop_ended(connection, ended, now) } if ended.any?
          [count || 0, rows.last.first]
        end

        private

        def work?(connection, now)
          pages = connection.number(:page_count)
          free = connection.number(:free_pages)
          note_fill(fill = (pages - free).fdiv(connection.page_limit))
          fill >= EVICTING_FILL || @hits.any? || give_back?(connection, pages, free) ||
            wanted_entries(connection).positive? || ended_ahead?(connection, now)
        end

        # Whether the next run has an expired row; otherwise skips the run.
        def ended_ahead?(connection, now)
          last, rows, ended = connection.row(:look_ahead, @hand, SAMPLE_ROWS, now)
          return true if ended&.positive?
          move_hand(rows, last)
          false
        end

        def flush_hits(connection, now)
          used_at = (now * 1_000_000).to_i
          @hits.take(FLUSHED_HITS).each do |id, count|
            connection.change(:note_use, id, count, Hits::MAX_HITS, used_at, @hits.stale_before_us)
          end
        end

        # The bytes added since the last round, multiplied as the file approaches its limit. The number of used pages
        # alone would evict too much, because it does not show free space inside pages.
        def wanted_bytes(connection)
          added = @added_bytes
          @added_bytes = 0
          note_fill(fill = connection.used_pages.fdiv(connection.page_limit))
          return 0 if fill < EVICTING_FILL
          (added * (0.5 + URGENCY * (fill - EVICTING_FILL) / (1 - EVICTING_FILL))).ceil
        end

        def note_fill(fill)
          @hits.wanted = fill >= NOTING_FILL || !@settings.max_entries.nil?
        end

        def wanted_entries(connection)
          return 0 unless @settings.max_entries
          [connection.number(:counted) - @settings.max_entries, 0].max
        end

        def sweep(connection, now, bytes, entries)
          LOOKS.times do
            rows = sample(connection)
            ended, alive = rows.partition { |row| ended?(row, now) }
            remove(connection, ended)
            bytes -= bytes_of(ended)
            entries -= ended.size
            gone = victims(alive, bytes, entries, now)
            evict(connection, gone, now)
            bytes -= bytes_of(gone)
            entries -= gone.size
            break if bytes <= 0 && entries <= 0
          end
        end

        # Returns a run of neighbouring rows. At the end of the ids it continues with the first id, because a choice
        # among a few rows would be poor.
        def sample(connection)
          from = @hand
          rows = connection.rows(:sample, from, SAMPLE_ROWS)
          move_hand(rows.size, rows.last&.first)
          return rows if rows.size == SAMPLE_ROWS || from == Schema::BEFORE_IDS
          others = connection.rows(:sample, Schema::BEFORE_IDS, SAMPLE_ROWS - rows.size)
                             .take_while { |row| row.first <= from }
          move_hand(SAMPLE_ROWS, others.last.first) if others.any?
          rows + others
        end

        # Moves the clock hand past the examined rows, or back to the first id if no rows follow.
        def move_hand(rows, last)
          @hand = rows < SAMPLE_ROWS ? Schema::BEFORE_IDS : last
        end

        def victims(rows, bytes, entries, now)
          return [] if bytes <= 0 && entries <= 0
          now_us = now * 1_000_000
          rows.max_by((rows.size * EVICTED_SHARE).ceil) { |row| staleness(row, now_us) }.take_while do |row|
            wanted = bytes.positive? || entries.positive?
            bytes -= row[4] + Schema::ROW_OVERHEAD_BYTES
            entries -= 1
            wanted
          end
        end

        def staleness(row, now_us) = (now_us - row[2]) / (1 + row[3])

        # Whether the database will stay well below its limit after these pages are added. The number is doubled,
        # because a row larger than half a page occupies a whole page.
        def room?(connection, pages)
          used = connection.number(:page_count)
          used < connection.page_limit * EVICTING_FILL &&
            connection.page_limit - used + connection.number(:free_pages) >= pages * 2
        end

        def enough?(connection, wanted_pages) = connection.number(:free_pages) >= wanted_pages

        # @return [Boolean] false if nothing is left to remove
        def clear_runs(connection, wanted_pages)
          LOOKS.times do
            return true if enough?(connection, wanted_pages)
            return false unless clear_run(connection, wanted_pages)
          end
          true
        end

        # Removes as many rows from a run of neighbours as needed. Small rows all go, because a page becomes free only
        # without any row. Large rows have their own pages, so those with the lowest expected use go first.
        #
        # @return [Boolean] false if nothing is left
        def clear_run(connection, wanted_pages)
          rows = sample(connection)
          return false if rows.empty?
          if bytes_of(rows) < rows.size * connection.page_size_bytes
            clear_small(connection, rows)
          else
            clear_large(connection, rows, wanted_pages)
          end
          true
        end

        def clear_small(connection, rows)
          rows.chunk_while { |row, following| row.first < following.first }.each do |run|
            connection.change(:remove_range, run.first.first - 1, run.last.first)
          end
          @evictions += rows.size
        end

        def clear_large(connection, rows, wanted_pages)
          now = Clock.now
          rows.sort_by { |row| ended?(row, now) ? -Float::INFINITY : -staleness(row, now * 1_000_000) }.each do |row|
            break if enough?(connection, wanted_pages)
            remove(connection, [row])
            @evictions += 1
          end
        end

        # Another process may have rewritten one of them since the sample was taken.
        def drop_ended(connection, rows, now)
          rows.sum { |row| connection.change(:remove_ended, row[0], now) }
        end

        def evict(connection, rows, now)
          return if rows.empty?
          remove(connection, rows)
          @evictions += rows.size
          note_age(rows, now)
        end

        # A use is recorded again once it is older than a fraction of the age at which entries are evicted.
        def note_age(rows, now)
          now_us = (now * 1_000_000).to_i
          age = rows.sum { |row| now_us - row[2] } / rows.size
          @hits.stale_before_us = now_us - (age * REFRESH_SHARE).to_i
        end

        def remove(connection, rows)
          rows.each { |row| connection.change(:remove, row[0]) }
        end

        def give_back(connection)
          pages = connection.number(:page_count)
          free = connection.number(:free_pages)
          connection.vacuum([free, VACUUMED_PAGES].min) if give_back?(connection, pages, free)
        end

        def give_back?(connection, pages, free)
          pages > connection.page_limit || free > VACUUMED_PAGES + pages * SPARE_SHARE
        end

        def ended?(row, now) = row[1] && row[1] <= now

        def bytes_of(rows) = rows.sum { |row| row[4] + Schema::ROW_OVERHEAD_BYTES }
      end
    end
  end
end
