# frozen_string_literal: true

require "digest/md5"
require "sqlite3"

require_relative "../optional_gems"
Tiercel::OptionalGems.check("sqlite3")

require_relative "../backend"
require_relative "key_memo"
require_relative "sqlite/settings"
require_relative "sqlite/schema"
require_relative "sqlite/access"
require_relative "sqlite/behind_tiers"
require_relative "sqlite/hits"
require_relative "sqlite/housekeeping"
require_relative "sqlite/rows"
require_relative "sqlite/writer"

module Tiercel
  module Backends
    # A cache as large as the disk, in one SQLite file that all processes of a machine share: `sqlite:PATH`. See
    # docs/sqlite.md.
    #
    # Guide to the code: {Rows} chooses the statement of {Schema} for each method. {Access} runs it under the lock and
    # turns errors into {BackendError}s. {Writer} makes space in a full file, and {Housekeeping} enforces the limits.
    # {CacheFile} creates the file and touches no other one.
    class SQLite < Backend
      include BehindTiers

      SCANNED_ROWS = 500
      CLEARED_ROWS = 500

      # @return [Array<Symbol>] names of the options of {.build}
      def self.option_names = %i[size max_entries timeout synchronous mmap_size page_size]

      # @param url [BackendURL] `sqlite:PATH`, relative to the current folder or absolute
      # @param options [Hash] see {Settings#initialize}
      # @return [SQLite]
      # @raise [ConfigurationError]
      def self.build(url, options) = new(url.place, **options)

      # @param path [String]
      # @param options [Hash] see {Settings#initialize}
      # @raise [ConfigurationError] also for a file that is not a cache of this user; such a file stays unchanged
      def initialize(path, **options)
        if path.to_s.empty?
          raise ConfigurationError, "sqlite: expected a path, such as \"sqlite:storage/cache.sqlite3\", got none"
        end
        @settings = Settings.new(**options)
        @file = CacheFile.new(path.to_s, @settings.timeout_seconds)
        check_file
        @access = Access.new(@file, @settings, to_s)
        @hits = Hits.new
        @housekeeping = Housekeeping.new(@settings, @hits)
        @writer = Writer.new(@access, @housekeeping, @settings)
        @ids = KeyMemo.new { |key| Digest::MD5.digest(key).unpack1("q") >> 1 } # spares the digest for keys in use
        @rows = Rows.new(@ids)
        @hit_count = @miss_count = 0
      end

      def get(key)
        row = present(key)
        row[Schema::VALUE] if row
      end

      def get_with_token(key)
        row = present(key, true)
        [row[Schema::VALUE], row[Schema::TOKEN]] if row
      end

      # Uses one read transaction.
      def get_multi(keys)
        @access.read do |connection|
          connection.transaction(:begin) do
            keys.each_with_object({}) do |key, found|
              id = @ids[key]
              row = counted(connection.find(id, key, @hits.wanted), id)
              found[key] = row[Schema::VALUE] if row
            end
          end
        end
      end

      def set(key, bytes, ttl = nil)
        return refuse(key) if bytes.bytesize > @settings.largest_value_bytes
        now = Clock.now
        added = @writer.write(key, bytes.bytesize) { |connection| @rows.set(connection, key, bytes, ttl, now) }
        @writer.keep_house(bytes.bytesize + key.bytesize, now, added: added)
        true
      end

      # Uses as few write transactions as the log's limit allows.
      def set_multi(pairs, ttl = nil)
        large, small = pairs.partition { |_, bytes| bytes.bytesize > @settings.largest_value_bytes }
        large.each { |key, _| refuse(key) }
        now = Clock.now
        @settings.batches(small).each do |batch|
          bytesize = batch.sum { |key, bytes| key.bytesize + bytes.bytesize }
          @writer.write(nil, bytesize) do |connection|
            connection.transaction { batch.each { |key, bytes| @rows.set(connection, key, bytes, ttl, now) } }
          end
          batch.size.times { |index| @writer.keep_house(index.zero? ? bytesize : 0, now) }
        end
        large.empty?
      end

      def add(key, bytes, ttl = nil)
        return false if bytes.bytesize > @settings.largest_value_bytes
        now = Clock.now
        added = @writer.write(key, bytes.bytesize) { |connection| @rows.add(connection, key, bytes, ttl, now) }
        @writer.keep_house(bytes.bytesize + key.bytesize, now, added: added)
        added
      end

      def compare_and_set(key, bytes, token, ttl = nil)
        return false if bytes.bytesize > @settings.largest_value_bytes || !token.is_a?(Integer)
        now = Clock.now
        written = @writer.write(key, bytes.bytesize) do |connection|
          @rows.compare_and_set(connection, key, bytes, token, ttl, now)
        end
        @writer.keep_house(bytes.bytesize + key.bytesize, now, added: false)
        written
      end

      def delete(key)
        @access.write(key) { |connection| @rows.delete(connection, key, Clock.now) }
      end

      # Uses one write transaction.
      def delete_multi(keys)
        now = Clock.now
        keys.each_slice(SCANNED_ROWS).sum do |slice|
          @access.write do |connection|
            connection.transaction { slice.count { |key| @rows.delete(connection, key, now) } }
          end
        end
      end

      def increment(key, amount = 1, ttl = nil)
        now = Clock.now
        count, added = @writer.write(key, 0) do |connection|
          connection.transaction { @rows.count_up(connection, key, amount, ttl, now) }
        end
        @writer.keep_house(key.bytesize, now, added: added)
        count
      end

      def touch(key, ttl)
        now = Clock.now
        # A new expiry may lengthen a large row, which then needs pages for a copy.
        @writer.write(key, @settings.largest_value_bytes / Writer::ATTEMPTS) do |connection|
          @rows.touch(connection, key, ttl, now)
        end
      end

      # Reads page by page in the order of the ids, and holds no lock between two pages.
      def scan(prefix = nil)
        return to_enum(:scan, prefix) unless block_given?
        prefix = prefix&.b
        last = Schema::BEFORE_IDS
        loop do
          rows = @access.read { |connection| connection.rows(:keys, last, SCANNED_ROWS) }
          return if rows.empty?
          now = Clock.now
          rows.each do |_, key, expires_at|
            yield key if (expires_at.nil? || expires_at > now) && (prefix.nil? || key.start_with?(prefix))
          end
          last = rows.last.first
        end
      end

      # @return [Integer] how many expired entries were removed
      def cleanup
        removed = 0
        last = Schema::BEFORE_IDS
        while (count, last = @access.write { |connection| @housekeeping.remove_ended(connection, last, Clock.now) })
          removed += count
        end
        give_back
        removed
      end

      # @return [Hash{Symbol => Integer}] :entries (estimated in a large file), :bytes in use, :disk_bytes of the
      #   file; :hits, :misses and :evictions of this process
      def stats
        @access.read do |connection|
          { entries: connection.entries, bytes: connection.used_pages * connection.page_size_bytes,
            disk_bytes: connection.number(:page_count) * connection.page_size_bytes,
            hits: @hit_count, misses: @miss_count, evictions: @housekeeping.evictions }
        end
      end

      def close
        @hits.forget
        @access.close
      end

      # @private
      # Closes the cache and removes its files and its lock.
      #
      # @return [void]
      def remove_files
        close
        @file.remove_cache { true }
        FileUtils.rm_f(@file.lock.path)
      rescue CacheFile::Foreign, CacheFile::Closed, FileLock::Busy, SystemCallError
        nil # a file that is not our cache stays
      end

      # Below this size a read costs less than inflating, and disk space is cheap (adr/007-sqlite.md).
      COMPRESS_THRESHOLD_BYTES = 32 * 1024

      def compress_threshold_bytes = COMPRESS_THRESHOLD_BYTES

      # SQLite databases usually trust the disk; `checksum: true` adds a checksum.
      def checksum? = false

      # @private
      # @return [Integer] evictions by this process
      def evictions = @housekeeping.evictions

      def to_s = "sqlite:#{@file.path}"

      private

      def check_file
        @file.verify
      rescue CacheFile::Missing, CacheFile::Closed, SystemCallError
        nil # the first call creates the file or reports the error
      rescue CacheFile::Foreign => error
        raise ConfigurationError, "sqlite: #{error.message}"
      end

      # The hot path: work that does not need the connection is done outside the lock.
      def present(key, whole = @hits.wanted)
        id = @ids[key]
        row = @access.read(key) { |connection| connection.find(id, key, whole) }
        counted(row, id)
      end

      def counted(row, id)
        if row.nil? || ((expires_at = row[Schema::EXPIRES_AT]) && expires_at <= Clock.now)
          @miss_count += 1
          return
        end
        @hit_count += 1
        @hits.note(id, row) if row.size > Schema::HITS && @hits.wanted
        row
      end

      def refuse(key)
        delete(key)
        false
      end

      def clear_all
        last = Schema::BEFORE_IDS
        while last
          last = @access.write do |connection|
            ids = connection.rows(:keys, last, CLEARED_ROWS)
            connection.change(:remove_range, last, ids.last.first) if ids.any?
            ids.last&.first
          end
        end
        give_back
      end

      # Returns all free pages in several steps, and the space of the log.
      def give_back
        free = nil
        loop do
          before = free
          free = @access.write { |connection| @housekeeping.shrink(connection) }
          break if free.zero? || (before && free >= before)
        end
        @access.write(&:checkpoint)
      end
    end
  end
end
