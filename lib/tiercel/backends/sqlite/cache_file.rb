# frozen_string_literal: true

require "fileutils"

require_relative "../../file_lock"
require_relative "../../ownership"
require_relative "forks"
require_relative "schema"

module Tiercel
  module Backends
    class SQLite < Backend
      # The file of the cache: where it is, whose it is, how it is made, and how
      # it is set aside when it is damaged.
      #
      # Nothing is ever changed that is not a cache. One is known by its
      # application id. Where damage has taken that, the mark tells: the lock
      # file beside it names the file that was made here.
      class CacheFile
        # Raised for what is at the path and is no cache: it stays as it is.
        class Foreign < StandardError; end
        # Raised for a file that this process may not read or write: perhaps a cache, of another user.
        class Closed < StandardError; end
        # Raised where there is no file yet.
        class Missing < StandardError; end

        # SQLite's errors for a file that is no database, or no longer one.
        DAMAGE = [SQLite3::CorruptException, SQLite3::NotADatabaseException, SQLite3::FormatException].freeze
        # The files that SQLite keeps beside a database.
        COMPANIONS = %w[-wal -shm -journal].freeze
        MARK = "Tiercel's cache lies beside this file, which is its lock. It was made as"
        APPLICATION_ID_AT = 68
        # Of a database: what is shorter SQLite takes for an empty one.
        SMALLEST_BYTES = 512
        MISTAKEN = "give the path of a file that does not exist yet, or delete this one if nobody needs it"

        # @return [String] absolute, in UTF-8, as SQLite takes it
        attr_reader :path
        # @return [FileLock] for making and moving the file, and for writers that wait
        attr_reader :lock

        # An absolute path, whatever the current folder becomes, and the one that a symbolic link leads to: SQLite
        # keeps the log beside the file itself.
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
        # @param timeout_seconds [Float] how long to wait for other processes that make or move the file
        def initialize(path, timeout_seconds)
          @given = ::File.expand_path(path)
          @path = self.class.resolve(path)
          @lock = FileLock.new("#{@path}.lock", timeout_seconds)
        end

        # Changes nothing.
        #
        # @return [void]
        # @raise [Foreign] if there is something that is no cache of this user
        # @raise [Closed] if it cannot be read and written, for its owner and mode
        # @raise [Missing] if there is nothing
        def verify
          objection = Ownership.objection(@given) || Ownership.objection(@lock.path)
          raise Foreign, objection if objection
          closed = Ownership.closed(@path) || Ownership.closed(@lock.path)
          raise Closed, closed if closed
          stat = ::File.stat(@path)
          raise Foreign, "#{@path} is not a regular file: #{MISTAKEN}" unless stat.file?
          other = other_content or return
          return verify unless self.class.inode(@path) == [stat.dev, stat.ino] # another process set it aside meanwhile
          raise Foreign, "#{@path} is not a cache of Tiercel (#{other}) and is left as it is: #{MISTAKEN}"
        rescue Errno::ENOENT
          verify_companions
          raise Missing, @path
        end

        # Makes the file, complete, unless it is there. Who is killed meanwhile leaves none.
        #
        # @yieldparam path [String] where an empty cache is to be made
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

        # Notes beside the file that it is ours, where that is not known. A second link is that of a process that was
        # killed while it made the file.
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
          nil # a later opening does it
        end

        # Sets a damaged file aside, once, however many processes find it: it is renamed with its log, never deleted.
        #
        # @yieldreturn [Boolean] whether what is there now is still to be set aside
        # @return [String, nil] the new name; nil if another process was first
        # @raise [Foreign] if it is no cache
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

        # Removes the cache, for a new one.
        #
        # @yieldreturn [Boolean] whether what is there now is still to be removed
        # @return [void]
        # @raise [Foreign] if it is no cache
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

        # The remains of a removed database are not ours either, unless the mark says so.
        def verify_companions
          left = COMPANIONS.map { |name| "#{@path}#{name}" }.find { |path| ::File.exist?(path) }
          return if left.nil? || written_mark
          raise Foreign, "#{left} belongs to a database that is not there any more, and is left as it is: give " \
                         "another path, or delete it if nobody needs it"
        end

        # @return [String, nil] what it is instead of a cache
        def other_content
          size = ::File.size(@path)
          return (size.zero? ? "empty" : "no database" unless written_mark) if size < SMALLEST_BYTES
          id = look_into { |database| database.get_first_value("PRAGMA application_id") }
          return if id == Schema::APPLICATION_ID || (written_mark && our_tables?)
          "another program's database, application_id #{id}"
        rescue *DAMAGE
          "no database" unless written_mark || application_id == Schema::APPLICATION_ID
        rescue SQLite3::Exception, SystemCallError => error
          error.message
        end

        # A sound database of somebody else is never ours, though it may have taken the place of a cache.
        def our_tables?
          sql = "SELECT count(*) FROM sqlite_schema WHERE sql = ?"
          look_into { |database| database.get_first_value(sql, Schema::TABLES.first) }.positive?
        end

        # Through SQLite, because closing a file of one's own would let go of the locks that other connections of this
        # process have on it; immutable, so that nothing is made, locked or recovered beside it.
        def look_into
          escaped = @path.b.gsub(%r{[^A-Za-z0-9/._-]}n) { |char| format("%%%02X", char.ord) }
          flags = SQLite3::Constants::Open::READONLY | SQLite3::Constants::Open::URI
          database = SQLite3::Database.new("file://#{escaped}?immutable=1", flags: flags)
          yield database
        ensure
          database&.close
        end

        # Where SQLite does not read the file, nobody has locks on it that count.
        def application_id = ::File.binread(@path, 4, APPLICATION_ID_AT)&.unpack1("N")

        def written_mark
          text = ::File.binread(@lock.path, MARK.bytesize + 100)
          text if text&.start_with?(MARK)
        rescue SystemCallError
          nil
        end

        def mark_of(stat) = "#{MARK} device #{stat.dev} inode #{stat.ino}.\n".b

        # Another program's file of that name stays as it is.
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

        # Never over a file that came meanwhile, but where the file system knows no second names.
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

        # A second file within a second must not take the first one's place.
        def free_name
          base = "#{@path}.set-aside-#{Time.now.utc.strftime("%Y%m%dT%H%M%S")}-#{Process.pid}"
          return base unless ::File.exist?(base)
          (2..).each { |number| return "#{base}-#{number}" unless ::File.exist?("#{base}-#{number}") }
        end
      end
    end
  end
end
