# frozen_string_literal: true

require "fileutils"
require "sqlite3"

# The file of the cache: its place, its owner, its creation, and moving it away when it is damaged. A cache has an
# application id in its header, and a lock file beside it; no other file is ever changed. Processes create and move the
# file only under this lock.
class Tiercel::Backends::SQLite::CacheFile
  # The path has a file that is not a cache; it stays unchanged.
  class Foreign < StandardError; end
  # The owner or the mode of the file denies access to this process.
  class Closed < StandardError; end
  # There is no file yet.
  class Missing < StandardError; end

  DAMAGE = [SQLite3::CorruptException, SQLite3::NotADatabaseException, SQLite3::FormatException].freeze
  # The files that SQLite keeps beside a database.
  COMPANIONS = %w[-wal -shm -journal].freeze
  # "TCL1", in the header of the file.
  APPLICATION_ID = 0x54434C31
  APPLICATION_ID_AT = 68
  # SQLite treats a shorter file as an empty database.
  SMALLEST_BYTES = 512
  MISTAKEN = "give the path of a file that does not exist yet, or delete this one if nobody needs it"

  # @return [String] absolute, without symbolic links, in UTF-8: SQLite keeps its log beside the file itself
  attr_reader :path
  attr_reader :lock

  def initialize(path, timeout_seconds)
    @given = ::File.expand_path(path)
    place = @given
    Tiercel::Ownership::LINKS.times do
      break unless ::File.symlink?(place)
      place = ::File.expand_path(::File.readlink(place), ::File.dirname(place))
    end
    @path = place.dup.force_encoding(Encoding::UTF_8)
    @lock = Tiercel::FileLock.new("#{@path}.lock", timeout_seconds)
  end

  # @return [Array(Integer, Integer), nil] device and inode
  def inode
    stat = ::File.stat(@path)
    [stat.dev, stat.ino]
  rescue SystemCallError
    nil
  end

  def bytes = ["", *COMPANIONS].sum { |name| ::File.size?("#{@path}#{name}") || 0 }
  def log_bytes = ::File.size?("#{@path}-wal") || 0

  # Checks the file without changing it.
  #
  # @raise [Foreign, Closed, Missing]
  def verify
    objection = Tiercel::Ownership.objection(@given) || Tiercel::Ownership.objection(@lock.path)
    raise Foreign, objection if objection
    closed = Tiercel::Ownership.closed(@path) || Tiercel::Ownership.closed(@lock.path)
    raise Closed, closed if closed
    raise Foreign, "#{@path} is not a regular file: #{MISTAKEN}" unless ::File.stat(@path).file?
    found = other_content or return
    raise Foreign, "#{@path} is not a cache of Tiercel (#{found}) and stays unchanged: #{MISTAKEN}"
  rescue Errno::ENOENT
    remains
    raise Missing, @path
  end

  # Creates the file. SQLite creates the tables in one transaction. A process that is killed therefore leaves at most an
  # empty database, which the next process completes.
  #
  # @yieldparam path [String] a file that is empty, unless another process was first
  # @raise [Foreign, FileLock::Busy, SystemCallError]
  def create
    FileUtils.mkdir_p(::File.dirname(@path))
    remains
    @lock.hold do
      unless ::File.exist?(@path)
        FileUtils.rm_f(remains)
        ::File.open(@path, ::File::CREAT | ::File::EXCL | ::File::WRONLY | ::File::NOFOLLOW, 0o600, &:close)
      end
      yield @path
    end
  end

  # Moves a damaged file away, only once even if several processes find it. Keeps only the latest damaged file.
  #
  # @param damaged [Array(Integer, Integer), nil] its inode
  # @return [String, nil] the new name; nil if another process was first
  def set_aside(damaged)
    @lock.hold do
      next unless damaged && damaged == inode
      target = "#{@path}.damaged"
      ["", *COMPANIONS].each do |name|
        FileUtils.rm_f("#{target}#{name}")
        ::File.rename("#{@path}#{name}", "#{target}#{name}") if ::File.exist?("#{@path}#{name}")
      end
      target
    end
  end

  # Removes the cache with its lock, if it is one.
  def remove
    return unless ::File.exist?(@path) # the lock would be created again
    @lock.hold do
      verify
      FileUtils.rm_f(["", *COMPANIONS, ".lock"].map { |name| "#{@path}#{name}" })
    end
  rescue Foreign, Closed, Missing, Tiercel::FileLock::Busy, SystemCallError
    nil
  end

  private

  # @return [Array<String>] companion files that a removed cache left behind
  # @raise [Foreign] if they belong to another database: only a cache has a lock file
  def remains
    left = COMPANIONS.map { |name| "#{@path}#{name}" }.select { |file| ::File.exist?(file) }
    return left if left.empty? || ::File.exist?(@lock.path)
    raise Foreign, "#{left.first} belongs to a database that no longer exists, and stays unchanged: use another " \
                   "path, or delete it if nothing needs it"
  end

  # @return [String, nil] a description of the content, if it is not a cache
  def other_content
    ours = ::File.exist?(@lock.path)
    size = ::File.size(@path)
    return (size.zero? ? "empty" : "not a database" unless ours) if size < SMALLEST_BYTES
    id = application_id
    return if id == APPLICATION_ID || (ours && (tables - %w[entries totals]).empty?)
    "another program's database, application_id #{id}"
  rescue *DAMAGE
    # No other connection has locks on a file that SQLite cannot read, so the descriptor may be closed here.
    ours ||= ::File.binread(@path, 4, APPLICATION_ID_AT)&.unpack1("N") == APPLICATION_ID
    "not a database" unless ours
  rescue SQLite3::Exception, SystemCallError => error
    raise Closed, "#{@path} cannot be examined: #{error.message}" if ::File.exist?(@path)
    raise Missing, @path
  end

  def application_id = look_into { |database| database.get_first_value("PRAGMA application_id") }
  def tables = look_into { |database| database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").flatten }

  # Reads through SQLite: closing a descriptor of our own would release the locks of this process' other connections.
  # Immutable, so that nothing is created, locked or recovered beside the file.
  def look_into
    escaped = @path.b.gsub(%r{[^A-Za-z0-9/._-]}n) { |char| format("%%%02X", char.ord) }
    flags = SQLite3::Constants::Open::READONLY | SQLite3::Constants::Open::URI
    database = SQLite3::Database.new("file://#{escaped}?immutable=1", flags: flags)
    yield database
  ensure
    database&.close
  end
end
