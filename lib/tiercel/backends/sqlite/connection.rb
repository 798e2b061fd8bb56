# frozen_string_literal: true

require_relative "cache_file"
require_relative "disk"
require_relative "forks"
require_relative "schema"

module Tiercel
  module Backends
    class SQLite < Backend
      # An open file with its prepared statements. Not thread-safe: the caller must hold the lock of {Access}.
      class Connection
        # Raised for a cache whose tables are missing or have another definition.
        class Damaged < StandardError; end
        # Raised for a cache that a later release created.
        class TooNew < StandardError; end

        # A larger value is released after its use as a parameter, instead of being kept until the next write.
        KEPT_BINDING_BYTES = 64 * 1024
        CACHE_KIB = 8 * 1024
        # In a file with more pages the number of entries is estimated.
        COUNTED_PAGES = 20_000
        # A change of the page limit by less than this fraction is ignored.
        UNNOTICED_SHARE = 0.01
        # Number of samples for the estimate, and number of rows in each sample.
        SAMPLES = 8
        SAMPLE_ROWS = 64

        # @return [Array(Integer, Integer), nil] device and inode of the open file
        attr_reader :inode
        # @return [Integer] the file's page size
        attr_reader :page_size_bytes
        # @return [Integer] maximum number of pages
        attr_reader :page_limit

        # Creates an empty cache in an empty file.
        #
        # @param path [String]
        # @param settings [Settings]
        # @return [void]
        # @raise [SQLite3::Exception]
        def self.make(path, settings)
          database = Forks::Database.new(path)
          database.execute("PRAGMA page_size = #{settings.page_size_bytes}")
          database.execute("PRAGMA auto_vacuum = 2")
          database.transaction(:immediate) do
            database.execute("PRAGMA application_id = #{Schema::APPLICATION_ID}")
            database.execute("PRAGMA user_version = #{Schema::VERSION}")
            Schema::TABLES.each { |sql| database.execute(sql) }
          end
          database.execute("PRAGMA journal_mode = WAL")
        ensure
          database&.close
        end

        # Opens an existing file. Acquires no write lock, so a new process can read while others write.
        #
        # @param path [String]
        # @param settings [Settings]
        # @raise [SQLite3::Exception] if SQLite cannot open it
        # @raise [CacheFile::Foreign] if it is another application's database by now
        # @raise [Damaged]
        # @raise [TooNew] if a later release made it
        def initialize(path, settings)
          @path = path
          @disk = Disk.new(path)
          @inode = CacheFile.inode(path)
          @process = ::Tiercel::Forks.current
          @database = Forks::Database.new(path, flags: SQLite3::Constants::Open::READWRITE)
          check_layout
          configure(settings)
          @statements = prepared
          @find, @find_whole, @set = @statements.values_at(:find, :find_whole, :set)
        rescue StandardError
          @database&.close
          raise
        end

        # @return [Boolean] whether this process, not its parent, opened it
        def own? = @process == ::Tiercel::Forks.current

        # @return [Boolean] whether the path still leads to the open file
        def in_place? = @inode == CacheFile.inode(@path)

        # Reads one row. This is the hot path, with three calls into SQLite.
        #
        # @param id [Integer]
        # @param key [String] the expected key of the row, because another key may have the same id
        # @param whole [Boolean] whether to include the columns for its use and its token, which cost a tenth more
        # @return [Array, nil] the columns in the order of {Schema}
        def find(id, key, whole)
          statement = whole ? @find_whole : @find
          statement.bind_param(1, id)
          row = statement.step
          row if row && ((stored = row[Schema::KEY]) == key || stored == key.b)
        ensure
          statement.reset!
        end

        # Writes one row.
        #
        # @return [Boolean] whether the row is new
        def set(id, key, bytes, expires_at, version, used_at)
          statement = @set
          statement.bind_param(1, id)
          statement.bind_param(2, key)
          statement.bind_param(3, bytes)
          statement.bind_param(4, expires_at)
          statement.bind_param(5, version)
          statement.bind_param(6, used_at)
          statement.step
          @database.last_insert_row_id == id
        ensure
          statement.reset!
          statement.bind_param(3, nil) if bytes.bytesize > KEPT_BINDING_BYTES
        end

        # Runs a statement that changes rows.
        #
        # @return [Integer] number of changed rows
        def change(name, *values)
          run(name, values)
          @database.changes
        end

        # @return [Array] the first row
        def row(name, *values) = run(name, values)

        # @return [Integer] first column of the first row
        def number(name, *values) = run(name, values).first

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

        # @param kind [Symbol] :begin, or :begin_immediate to write
        # @return [Object] the block's value
        def transaction(kind = :begin_immediate)
          run(kind, [])
          result = yield
          run(:commit, [])
          result
        ensure
          @database.execute("ROLLBACK") if @database.transaction_active?
        end

        # Counts the entries. An exact count reads every page, so in a large file the number is estimated. Ids are
        # digests, spread evenly over their range, so the mean gap between neighbours gives the number.
        #
        # @return [Integer]
        def entries
          return number(:count) if number(:page_count) <= COUNTED_PAGES
          samples = Array.new(SAMPLES) { rows(:keys, rand(Schema::IDS), SAMPLE_ROWS) }
          samples.select! { |sample| sample.size > 1 }
          return 0 if samples.empty?
          gap = samples.sum { |sample| (sample.last.first - sample.first.first).fdiv(sample.size - 1) } / samples.size
          (Schema::IDS.size / gap).round
        end

        # Limits the file to the space that its disk has now.
        #
        # @param settings [Settings]
        # @return [void]
        def fit(settings)
          settings.room_bytes = @disk.room_bytes
          limit = settings.page_limit(@page_size_bytes)
          bound(settings) if (limit - @page_limit).abs > @page_limit * UNNOTICED_SHARE
        end

        # @param bytes [Integer] size of the next write
        # @return [Boolean] whether emptying the log freed space on a disk that was too full for the write
        def gain_disk?(bytes) = @disk.short_of?(bytes) && checkpoint

        # @return [Boolean] whether the cache itself fills a small disk. A larger disk has enough reserve for the
        #   cache, so other programs must have filled it.
        def fills_disk? = @disk.own_bytes.between?(Settings::LEAST_ROOM_BYTES, Disk::SMALL_BYTES)

        # @return [Integer] number of used pages
        def used_pages = number(:page_count) - number(:free_pages)

        # Returns free pages at the end of the file to the disk.
        #
        # @param pages [Integer] maximum number of pages
        def vacuum(pages) = @database.execute("PRAGMA incremental_vacuum(#{Integer(pages)})")

        # Writes the log back and empties it, as far as other connections allow.
        #
        # @return [Boolean] whether the log is empty now
        def checkpoint = @database.execute("PRAGMA wal_checkpoint(TRUNCATE)").first.first.zero?

        # Applies options that change the file, before the first write.
        #
        # @return [void]
        # @raise [SQLite3::BusyException]
        def before_writing
          return unless @to_be_counted
          transaction { Schema::COUNTING.each { |sql| @database.execute(sql) } unless counting? }
          @to_be_counted = false
        end

        def close
          @statements.each_value(&:close)
          @database.close
        end

        private

        # SQLite reads a table's altered definition as another table, without an error of its own.
        def prepared
          Schema::STATEMENTS.transform_values { |sql| @database.prepare(sql) }
        rescue SQLite3::SQLException => error
          raise Damaged, "its tables are not those of a cache: #{error.message.lines.first.delete_suffix(":\n")}"
        end

        def run(name, values)
          bind(name, values).step
        ensure
          @statements[name].reset!
        end

        def bind(name, values)
          statement = @statements.fetch(name)
          values.each_with_index { |value, index| statement.bind_param(index + 1, value) }
          statement
        end

        def configure(settings)
          pragma("journal_mode", "WAL") unless @database.get_first_value("PRAGMA journal_mode") == "wal"
          pragma("synchronous", settings.synchronous)
          pragma("mmap_size", settings.mmap_size_bytes)
          pragma("cache_size", -CACHE_KIB)
          @page_size_bytes = @database.get_first_value("PRAGMA page_size")
          @to_be_counted = settings.max_entries && !counting?
          settings.room_bytes = @disk.room_bytes
          bound(settings)
        end

        def bound(settings)
          pragma("wal_autocheckpoint", settings.wal_bytes / @page_size_bytes)
          pragma("journal_size_limit", settings.wal_bytes)
          @page_limit = settings.page_limit(@page_size_bytes)
          pragma("max_page_count", @page_limit)
        end

        # An application that has taken over the file has added its own tables.
        def check_layout
          version = @database.get_first_value("PRAGMA user_version")
          raise TooNew, "layout #{version}, this release supports up to #{Schema::VERSION}" if version > Schema::VERSION
          tables = @database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").flatten
          alien = tables.grep_v(/\Asqlite_/) - Schema::TABLE_NAMES
          if alien.any?
            raise CacheFile::Foreign, "#{@path} has tables of another application (#{alien.join(", ")}) and " \
                                      "stays unchanged: use another path"
          end
          raise Damaged, "layout #{version}, tables #{tables}" if (Schema::TABLE_NAMES - tables).any? || version.zero?
        end

        def counting?
          @database.get_first_value("SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'").positive?
        end

        def pragma(name, value) = @database.execute("PRAGMA #{name} = #{value}")
      end
    end
  end
end
