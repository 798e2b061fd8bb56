# frozen_string_literal: true

require "fileutils"

require_relative "../../file_lock"
require_relative "../../ownership"
require_relative "forks"
require_relative "schema"

module Tiercel
  module Backends
    class SQLite < Backend
      # The file of the cache: its location, its owner, its creation, and moving it away when it is damaged.
      #
      # Only a cache is ever changed. A cache is recognized by its application id. If damage has destroyed the id, the
      # lock file beside it identifies the file that was created here.
      class CacheFile
        # Raised if the path has a file that is not a cache; it stays unchanged.
        class Foreign < StandardError; end
        # Raised if this process cannot read or write the file, which is perhaps another user's cache.
        class Closed < StandardError; end
        # Raised if there is no file yet.
        class Missing < StandardError; end

        # SQLite's errors for a file that is damaged or not a database.
        DAMAGE = [SQLite3::CorruptException, SQLite3::NotADatabaseException, SQLite3::FormatException].freeze
        # The files that SQLite keeps beside a database.
        COMPANIONS = %w[-wal -shm -journal].freeze
        MARK = "Tiercel's cache lies beside this file, which is its lock. It was made as"
        APPLICATION_ID_AT = 68
        # SQLite treats a shorter file as an empty database.
        SMALLEST_BYTES = 512
        MISTAKEN = "give the path of a file that does not exist yet, or delete this one if nobody needs it"

        # @return [String] the absolute path, in UTF-8 as SQLite needs it
        attr_reader :path
        # @return [FileLock] the lock for creating and moving the file, and for waiting writers
        attr_reader :lock

        # Returns an absolute path that is independent of later changes of the current folder, with symbolic links
        # resolved: SQLite keeps the log beside the file itself.
        #
        # @param path [String]
        # @return [String]
        def self.resolve(path)
          place = ::File.expand_path(path)
          Ownership::LINKS.times do
            break unless ::File.symlink?(place)
            place = ::File.expand_path(::File.readlink(place), ::File.dirname(place))
          end
          place.force_encoding(Encoding::UTF_8)
        end

        # @param path [String]
        # @return [Array(Integer, Integer), nil] device and inode
        def self.inode(path)
          stat = ::File.stat(path)
          [stat.dev, stat.ino]
        rescue SystemCallError
          nil
        end

        # @param path [String]
        # @param timeout_seconds [Float] maximum wait for other processes that create or move the file
        def initialize(path, timeout_seconds)
          @given = ::File.expand_path(path)
          @path = self.class.resolve(path)
          @lock = FileLock.new("#{@path}.lock", timeout_seconds)
        end

        # Checks the file without changing it.
        #
        # @return [void]
        # @raise [Foreign] if the file is not a cache of this user
        # @raise [Closed] if its owner or mode denies reading or writing
        # @raise [Missing] if there is no file
        def verify
          objection = Ownership.objection(@given) || Ownership.objection(@lock.path)
          raise Foreign, objection if objection
          closed = Ownership.closed(@path) || Ownership.closed(@lock.path)
          raise Closed, closed if closed
          stat = ::File.stat(@path)
          raise Foreign, "#{@path} is not a regular file: #{MISTAKEN}" unless stat.file?
          other = other_content or return
          return verify unless self.class.inode(@path) == [stat.dev, stat.ino] # another process has just moved it away
          raise Closed, "#{@path} cannot be examined: #{other.message}" if other.is_a?(Exception)
          raise Foreign, "#{@path} is not a cache of Tiercel (#{other}) and stays unchanged: #{MISTAKEN}"
        rescue Errno::ENOENT
          verify_companions
          raise Missing, @path
        end

        # Creates the complete file unless it exists. A process killed during this leaves no file.
        #
        # @yieldparam path [String] the path for an empty cache
        # @return [void]
        # @raise [Foreign]
        # @raise [FileLock::Busy]
        # @raise [SystemCallError]
        def create(&)
          FileUtils.mkdir_p(::File.dirname(@path))
          verify_companions
          @lock.hold do |lock_file|
            raise Errno::ELOOP, @path if ::File.symlink?(@path)
            next if ::File.exist?(@path)
            verify_companions
            remove(@path, COMPANIONS)
            place_new(lock_file, &)
          end
        end

        # Records in the lock file which file is ours, if that is missing. A second link to the file comes from a
        # process that was killed while it created the file.
        #
        # @return [void]
        def mark
          stat = ::File.stat(@path)
          return if mark_of(stat) == written_mark && stat.nlink == 1
          @lock.hold(0.0) do |lock_file|
            write_mark(lock_file, ::File.stat(@path))
            remove(temporary, ["", *COMPANIONS])
          end
        rescue SystemCallError, FileLock::Busy
          nil # the next process that opens the file tries again
        end

        # Moves a damaged file away, once, however many processes find it. The file and its log are renamed, never
        # deleted.
        #
        # @yieldreturn [Boolean] whether the file that exists now is still the damaged one
        # @return [String, nil] the new name; nil if another process was first
        # @raise [Foreign] if the file is not a cache
        # @raise [FileLock::Busy]
        # @raise [SystemCallError]
        def set_aside
          @lock.hold do
            verify
            move(free_name) if yield
          end
        rescue Missing
          nil
        end

        # Removes the cache so that a new one can be created.
        #
        # @yieldreturn [Boolean] whether the file that exists now is still the one to remove
        # @return [void]
        # @raise [Foreign] if the file is not a cache
        # @raise [FileLock::Busy]
        # @raise [SystemCallError]
        def remove_cache
          @lock.hold do
            verify
            remove(@path, ["", *COMPANIONS]) if yield
          end
        rescue Missing
          nil
        end

        private

        # The log of a removed database is not ours either, unless the lock file identifies it.
        def verify_companions
          left = COMPANIONS.map { |name| "#{@path}#{name}" }.find { |path| ::File.exist?(path) }
          return if left.nil? || written_mark
          raise Foreign, "#{left} belongs to a database that no longer exists, and stays unchanged: use " \
                         "another path, or delete it if nothing needs it"
        end

        # @return [String, Exception, nil] a description of the content, if it is not a cache; the error, if the process
        #   has no descriptors left, for example
        def other_content
          size = ::File.size(@path)
          return (size.zero? ? "empty" : "not a database" unless written_mark) if size < SMALLEST_BYTES
          id = look_into { |database| database.get_first_value("PRAGMA application_id") }
          return if id == Schema::APPLICATION_ID || (written_mark && our_tables?)
          "another program's database, application_id #{id}"
        rescue *DAMAGE
          "not a database" unless written_mark || application_id == Schema::APPLICATION_ID
        rescue SQLite3::Exception, SystemCallError => error
          error
        end

        # Another application's intact database is never ours, even at the path of a former cache.
        def our_tables?
          sql = "SELECT count(*) FROM sqlite_schema WHERE sql = ?"
          look_into { |database| database.get_first_value(sql, Schema::TABLES.first) }.positive?
        end

        # Reads through SQLite, because closing our own file descriptor would release the locks of this process' other
        # connections. Opens it as immutable, so that nothing is created, locked or recovered beside it.
        def look_into
          escaped = @path.b.gsub(%r{[^A-Za-z0-9/._-]}n) { |char| format("%%%02X", char.ord) }
          flags = SQLite3::Constants::Open::READONLY | SQLite3::Constants::Open::URI
          database = SQLite3::Database.new("file://#{escaped}?immutable=1", flags: flags)
          yield database
        ensure
          database&.close
        end

        # If SQLite cannot read the file, no other connection has locks on it.
        def application_id = ::File.binread(@path, 4, APPLICATION_ID_AT)&.unpack1("N")

        def written_mark
          text = ::File.binread(@lock.path, MARK.bytesize + 100)
          text if text&.start_with?(MARK)
        rescue SystemCallError
          nil
        end

        def mark_of(stat) = "#{MARK} device #{stat.dev} inode #{stat.ino}.\n".b

        # Another program's file with this name stays unchanged.
        def write_mark(lock_file, stat)
          return unless lock_file.size.zero? || written_mark
          mark = mark_of(stat)
          lock_file.pwrite(mark, 0)
          lock_file.truncate(mark.bytesize)
        end

        def place_new(lock_file)
          remove(temporary, ["", *COMPANIONS])
          ::File.open(temporary, ::File::CREAT | ::File::EXCL | ::File::WRONLY, 0o600, &:close)
          yield temporary
          write_mark(lock_file, ::File.stat(temporary))
          link(temporary)
        ensure
          remove(temporary, ["", *COMPANIONS])
        end

        def temporary = "#{@path}.tiercel-new"

        # Never overwrites a file that was created concurrently, unless the file system has no hard links.
        def link(temporary)
          ::File.link(temporary, @path)
        rescue Errno::EEXIST
          nil
        rescue Errno::EPERM, Errno::EOPNOTSUPP, Errno::ENOSYS, Errno::EMLINK
          ::File.rename(temporary, @path)
        end

        def remove(path, endings) = endings.each { |ending| FileUtils.rm_f("#{path}#{ending}") }

        def move(target)
          ["", *COMPANIONS].each do |companion|
            ::File.rename("#{@path}#{companion}", "#{target}#{companion}")
          rescue Errno::ENOENT
            nil
          end
          target
        end

        # A second file in the same second must not replace the first one.
        def free_name
          base = "#{@path}.set-aside-#{Time.now.utc.strftime("%Y%m%dT%H%M%S")}-#{Process.pid}"
          return base unless ::File.exist?(base)
          (2..).each { |number| return "#{base}-#{number}" unless ::File.exist?("#{base}-#{number}") }
        end
      end
    end
  end
end
