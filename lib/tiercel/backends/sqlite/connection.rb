# frozen_string_literal: true

require_relative "forks"
require_relative "schema"

module Tiercel
  module Backends
    class SQLite < Backend
      # An open file with its prepared statements. Not thread-safe: whoever uses
      # it holds the lock of {Access}.
      class Connection
        # Raised for a database that is not a cache of this layout.
        class Foreign < StandardError; end
        # Raised for a cache of a later release.
        class TooNew < StandardError; end

        OWNER_ONLY = 0o600
        # Above this a bound value is let go after use, not kept until the next write.
        KEPT_BINDING_BYTES = 64 * 1024
        CACHE_KIB = 8 * 1024

        # @return [Array(Integer, Integer), nil] device and inode of the file that is open
        attr_reader :inode
        # @return [Integer] of the file
        attr_reader :page_size_bytes
        # @return [Integer] pages that the database may have
        attr_reader :page_limit

        # @param path [String]
        # @return [Array(Integer, Integer), nil] device and inode
        def self.inode(path)
          stat = ::File.stat(path)
          [stat.dev, stat.ino]
        rescue SystemCallError
          nil
        end

        # Opens the file, and creates it where there is none.
        #
        # @param path [String]
        # @param settings [Settings]
        # @raise [SQLite3::Exception] where SQLite cannot
        # @raise [Foreign] if it is another application's database
        # @raise [TooNew] if a later release made it
        def initialize(path, settings)
          @path = path
          create_file
          @inode = self.class.inode(path)
          @database = Forks::Database.new(path)
          configure(settings)
          @statements = Schema::STATEMENTS.transform_values { |sql| @database.prepare(sql) }
          @find, @find_whole, @set = @statements.values_at(:find, :find_whole, :set)
        rescue StandardError
          @database&.close
          raise
        end

        # @return [Boolean] whether this process opened it
        def own? = !@database.inherited?

        # @return [Boolean] whether the path still leads to the file that is open
        def in_place? = @inode == self.class.inode(@path)

        # Looks one row up: the hot path, three calls into SQLite.
        #
        # @param id [Integer]
        # @param whole [Boolean] with the columns on its use and its token, which cost a tenth more
        # @return [Array, nil] columns as {Schema} names them
        def find(id, whole)
          statement = whole ? @find_whole : @find
          statement.bind_param(1, id)
          statement.step
        ensure
          statement.reset!
        end

        # Writes one row.
        #
        # @return [Boolean] whether it was new
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
        # @return [Integer] how many changed
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

        # @return [Integer] pages in use
        def used_pages = number(:page_count) - number(:free_pages)

        # Gives free pages at the end of the file back.
        #
        # @param pages [Integer] at most so many
        def vacuum(pages) = @database.execute("PRAGMA incremental_vacuum(#{Integer(pages)})")

        # Writes the log back and empties it, as far as others allow.
        #
        # @return [Boolean] whether it is empty now
        def checkpoint = @database.execute("PRAGMA wal_checkpoint(TRUNCATE)").first.first.zero?

        def close
          @statements.each_value(&:close)
          @database.close
        end

        private

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

        def create_file
          ::File.open(@path, ::File::CREAT | ::File::EXCL | ::File::WRONLY, OWNER_ONLY, &:close)
        rescue Errno::EEXIST
          nil
        end

        def configure(settings)
          pragma("page_size", settings.page_size_bytes)
          pragma("auto_vacuum", 2)
          prepare_tables(settings)
          pragma("synchronous", settings.synchronous)
          pragma("mmap_size", settings.mmap_size_bytes)
          pragma("cache_size", -CACHE_KIB)
          @page_size_bytes = @database.get_first_value("PRAGMA page_size")
          bound(settings)
        end

        def bound(settings)
          pragma("wal_autocheckpoint", settings.wal_bytes / @page_size_bytes)
          pragma("journal_size_limit", settings.wal_bytes)
          @page_limit = settings.page_limit(@page_size_bytes)
          pragma("max_page_count", @page_limit)
        end

        def prepare_tables(settings)
          check_owner
          pragma("journal_mode", "WAL")
          transaction_of do
            create_tables if empty?
            Schema::COUNTING.each { |sql| @database.execute(sql) } if settings.max_entries && !counting?
          end
        end

        # Without prepared statements, which need the tables.
        def transaction_of
          @database.execute("BEGIN IMMEDIATE")
          yield
          @database.execute("COMMIT")
        ensure
          @database.execute("ROLLBACK") if @database.transaction_active?
        end

        def create_tables
          pragma("application_id", Schema::APPLICATION_ID)
          pragma("user_version", Schema::VERSION)
          Schema::TABLES.each { |sql| @database.execute(sql) }
        end

        def empty? = @database.get_first_value("SELECT count(*) FROM sqlite_schema").zero?

        def counting?
          @database.get_first_value("SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'").positive?
        end

        def check_owner
          return if empty?
          application = @database.get_first_value("PRAGMA application_id")
          version = @database.get_first_value("PRAGMA user_version")
          if application != Schema::APPLICATION_ID || version < Schema::VERSION
            raise Foreign, "application_id #{application}, user_version #{version}"
          end
          raise TooNew, "layout #{version}, this release knows #{Schema::VERSION}" if version > Schema::VERSION
        end

        def pragma(name, value) = @database.execute("PRAGMA #{name} = #{value}")
      end
    end
  end
end
