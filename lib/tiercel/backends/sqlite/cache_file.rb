# frozen_string_literal: true

require "fileutils"
require "sqlite3"

# The file of the cache: its place, its owner, its creation, and moving it away when it is damaged. A cache has an
# application id in its header, and a lock file beside it; no other file is ever changed. Processes create and move the
# file only under this lock.
class Tiercel::Backends::SQLite::CacheFile
  DAMAGE = [SQLite3::CorruptException, SQLite3::NotADatabaseException, SQLite3::FormatException].freeze
  # The files that SQLite keeps beside a database.
  COMPANIONS = %w[-wal -shm -journal].freeze
  # "TCL1", in the header of the file.
  APPLICATION_ID = 0x54434C31
  # Incremented whenever the tables change; `user_version` of the file.
  VERSION = 1
  TABLES = {
    "entries" => "id INTEGER PRIMARY KEY, expires_at REAL, used_at INTEGER NOT NULL, hits INTEGER NOT NULL, " \
                 "version INTEGER NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL",
    "totals" => "name TEXT PRIMARY KEY, value INTEGER NOT NULL",
  }.freeze
  # A page larger than a usual row wastes space; a smaller one splits it.
  PAGE_BYTES = 2048

  # @return [String] absolute, without symbolic links, in UTF-8: SQLite keeps its log beside the file itself
  attr_reader :path

  def initialize(path, timeout_seconds)
    @given = ::File.expand_path(path)
    @path = resolved.dup.force_encoding(Encoding::UTF_8)
    @lock = Tiercel::FileLock.new("#{@path}.lock", timeout_seconds)
  end

  # @return [Array(Integer, Integer), nil] device and inode
  def inode
    stat = ::File.stat(@path)
    [stat.dev, stat.ino]
  rescue SystemCallError
    nil
  end

  # @return [Integer, nil] bytes that the cache could have on its disk; nil if the system does not report them
  def room_bytes
    Tiercel::Extensions.load("segment")
    free = Tiercel::Segment.free_bytes(::File.dirname(@path))
    free && paths.sum(free) { |path| ::File.size?(path) || 0 }
  end

  def log_bytes = ::File.size?("#{@path}-wal") || 0

  # Checks the file without changing it.
  #
  # @return [Boolean] whether the file exists
  # @raise [ConfigurationError] if it is not a cache of this user; then it stays unchanged
  # @raise [Refused] if this process or this release cannot use the cache
  # @raise [SQLite3::Exception] if the file cannot be examined
  def verify
    objection = Tiercel::Ownership.objection(@given) || Tiercel::Ownership.objection(@lock.path)
    raise Tiercel::ConfigurationError, "sqlite: #{objection}" if objection
    closed = Tiercel::Ownership.closed(@path) || Tiercel::Ownership.closed(@lock.path)
    raise Tiercel::Refused.new(closed, backend: "sqlite:#{@path}") if closed
    return remains && false unless ::File.exist?(@path)
    found = other_content or return true
    raise foreign(found)
  end

  # @param found [String] the content
  # @return [ConfigurationError]
  def foreign(found)
    Tiercel::ConfigurationError.new(
      "sqlite: #{@path} is not a cache of Tiercel (#{found}) and stays unchanged: give the path of a file that does " \
      "not exist yet, or delete this one if nobody needs it"
    )
  end

  # @return [Array<String>] the tables, without those of SQLite itself (ANALYZE makes one)
  def tables(database)
    database.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'sqlite_*'").flatten
  end

  # Creates the file, unless another process was first. A file gets its name when it is complete.
  #
  # @raise [ConfigurationError, FileLock::Busy, SystemCallError]
  def create
    FileUtils.mkdir_p(::File.dirname(@path))
    @lock.hold do
      next if ::File.exist?(@path)
      unfinished = "#{@path}.unfinished"
      FileUtils.rm_f(remains + paths(unfinished)) # of a process that was killed here
      ::File.open(unfinished, ::File::CREAT | ::File::EXCL | ::File::WRONLY, 0o600, &:close)
      make(unfinished)
      ::File.rename(unfinished, @path)
    end
  end

  # Moves a damaged file away, only once even if several processes find it. Keeps only the latest damaged file.
  #
  # @param damaged [Array(Integer, Integer), nil] device and inode of the damaged file
  # @return [String] the new name
  def set_aside(damaged)
    target = "#{@path}.damaged"
    @lock.hold do
      next unless damaged && damaged == inode
      FileUtils.rm_f(paths(target))
      paths.zip(paths(target)) { |from, to| ::File.rename(from, to) if ::File.exist?(from) }
    end
    target
  end

  # Removes the file with its lock file, if it is a cache.
  def remove
    return unless ::File.exist?(@path) # the lock would be created again
    @lock.hold { FileUtils.rm_f([*paths, @lock.path]) if verify }
  rescue Tiercel::ConfigurationError, Tiercel::Refused, Tiercel::FileLock::Busy, SQLite3::Exception, SystemCallError
    nil
  end

  private

  def resolved
    ::File.realdirpath(@given)
  rescue SystemCallError
    @given # its folder does not exist yet
  end

  def paths(path = @path) = ["", *COMPANIONS].map { |name| "#{path}#{name}" }

  def make(path)
    database = Tiercel::Backends::SQLite::Database.new(path)
    ["PRAGMA page_size = #{PAGE_BYTES}", "PRAGMA auto_vacuum = 2", "BEGIN",
     "PRAGMA application_id = #{APPLICATION_ID}", "PRAGMA user_version = #{VERSION}",
     *TABLES.map { |name, columns| "CREATE TABLE #{name} (#{columns})" },
     "COMMIT", "PRAGMA journal_mode = WAL"].each { |sql| database.execute(sql) }
  ensure
    database&.close
  end

  # @return [Array<String>] companion files that a removed cache left behind
  # @raise [ConfigurationError] if they belong to another database: only a cache has a lock file
  def remains
    left = paths.drop(1).select { |path| ::File.exist?(path) }
    return left if left.empty? || ::File.exist?(@lock.path)
    raise Tiercel::ConfigurationError,
          "sqlite: #{left.first} belongs to a database that no longer exists, and stays unchanged: use another path, " \
          "or delete it if nothing needs it"
  end

  # @return [String, nil] a description of the content, if it is not a cache. A cache that is damaged or was emptied
  #   has a lock file
  def other_content
    return "not a regular file" unless ::File.file?(@path)
    ours = ::File.exist?(@lock.path)
    id, version, tables = look
    unless (id == APPLICATION_ID || ours) && (tables - TABLES.keys).empty?
      return "application_id #{id}, tables: #{tables.join(", ")}"
    end
    return if version <= VERSION
    raise Tiercel::Refused.new("layout #{version}, this release supports up to #{VERSION}", backend: "sqlite:#{@path}")
  rescue *DAMAGE
    "not a database" unless ours
  end

  # Reads through SQLite: closing a descriptor of our own would release the locks of this process' other connections.
  # Immutable, so that nothing is created, locked or recovered beside the file.
  def look
    escaped = @path.b.gsub(%r{[^A-Za-z0-9/._-]}n) { |char| format("%%%02X", char.ord) }
    flags = SQLite3::Constants::Open::READONLY | SQLite3::Constants::Open::URI
    database = SQLite3::Database.new("file://#{escaped}?immutable=1", flags: flags)
    [database.get_first_value("PRAGMA application_id"), database.get_first_value("PRAGMA user_version"),
     tables(database)]
  ensure
    database&.close
  end
end
