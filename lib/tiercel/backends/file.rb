# frozen_string_literal: true

require "digest/md5"
require "fileutils"

# Stores each entry in its own file below a folder: `file:DIR`, for memory file systems, disks and NFS. See
# docs/files.md.
#
#   tiercel-v1/3f/3fa2...             an entry, named by the MD5 digest of its key; 256 folders
#   tiercel-v1/3f/.new-PID-TOKEN      an entry that is being written
#   tiercel-v1/lock                   the lock of all changes; it contains the bytes and entries of each folder
#
# Readers need no lock, because a complete file is renamed into place. The path contains the version, so that another
# layout can coexist. The digest need not be collision-free: the file contains the key, and reads compare it. If two
# keys have the same digest, the later write wins.
class Tiercel::Backends::File < Tiercel::Backend
  autoload :Record, "tiercel/backends/file/record"

  include Tiercel::Backends::Disk

  VERSION = "tiercel-v1"
  FOLDERS = 256
  # Names of entries and of unfinished files. Other files are left alone: NFS keeps removed open files as .nfs...
  NAMES = /\A(?:[0-9a-f]{32}|\.new-[0-9]+-[0-9a-f]+)\z/
  TEMPORARY = ".new-"
  # File systems allocate whole blocks, also those in memory.
  BLOCK_BYTES = 4_096
  WRITE = ::File::WRONLY | ::File::CREAT | ::File::TRUNC | ::File::BINARY
  # Attempts to write a file, in case other programs remove its folder.
  ATTEMPTS = 8
  # Writes between two rounds of housekeeping. A round starts earlier once this share of `size` was added.
  INTERVAL = 32
  EARLY_SHARE = 1.0 / 64
  # The fill at which eviction begins, and the share of a sample that one round evicts.
  EVICTING_FILL = 0.95
  EVICTED_SHARE = 0.25
  # Files and folders in a round. Below the fill at which eviction begins, a round visits fewer, because it removes only
  # expired entries.
  SAMPLE = 64
  EASY_SAMPLE = 16
  EASY_FOLDERS = 8
  # A larger folder is not recounted.
  RECOUNTED_FILES = 512
  REFUSALS = [
    Errno::EACCES, Errno::EPERM, Errno::EROFS, Errno::ENOSPC, Errno::EDQUOT, Errno::EFBIG, Errno::EMLINK,
    Errno::ENAMETOOLONG,
  ].freeze
  FAILURES = [SystemCallError, IOError].freeze

  # @return [Array<Symbol>] names of the options of {.build}
  def self.option_names = Tiercel::Options.of(:file)

  # @param url [BackendURL] `file:DIR`, relative to the current folder or absolute
  # @raise [ConfigurationError]
  def self.build(url, options) = new(url.place, **options)

  # @param directory [String] a folder that may contain other files; the cache creates its own folder in it
  # @param size [Integer, String] bytes on disk, in whole blocks
  # @param timeout [Numeric] the longest wait for the lock, in seconds
  # @raise [ConfigurationError] also for another user's folder if everybody may write there
  def initialize(directory, size: nil, timeout: nil)
    super()
    if directory.to_s.empty?
      raise Tiercel::ConfigurationError, "file: expected a folder, such as \"file:tmp/cache\", got none"
    end
    @directory = ::File.expand_path(directory.to_s).force_encoding(Encoding::UTF_8)
    @size_bytes, @timeout_seconds = Tiercel::Options.values(:file, { size:, timeout: }).values_at(:size, :timeout)
    @root = ::File.join(@directory, VERSION)
    @paths = digests do |key|
      digest = Digest::MD5.hexdigest(key)
      "#{@root}/#{digest[0, 2]}/#{digest}".freeze
    end
    objection = Tiercel::Ownership.objection(@root) and raise Tiercel::ConfigurationError, "file: #{objection}"
    @lock = Tiercel::FileLock.new("#{@root}/lock", @timeout_seconds)
    @hit_count = @miss_count = @evictions = @writes = @added_bytes = 0
    @hand = rand(FOLDERS)
  end

  def get(key) = read(key)&.bytes

  def get_with_token(key)
    record = read(key)
    [record.bytes, record.token] if record
  end

  def set(key, bytes, ttl = nil)
    return refuse(key) if too_large?(bytes)
    change(key) { |_, now| [true, bytes, ttl && now + ttl, next_token] }
  end

  def add(key, bytes, ttl = nil)
    return false if too_large?(bytes)
    change(key) do |path, now|
      [true, bytes, ttl && now + ttl, next_token] unless present(path, key, now, whole: false)
    end
  end

  def compare_and_set(key, bytes, token, ttl = nil)
    return false if too_large?(bytes)
    change(key) do |path, now|
      [true, bytes, ttl && now + ttl, next_token] if present(path, key, now, whole: false)&.token == token
    end
  end

  def delete(key)
    path = @paths[key]
    medium(key) do
      @lock.hold do |ledger|
        present(path, key, Tiercel::Clock.now, whole: false) && remove(ledger, path) ? true : false
      end
    end
  end

  def increment(key, amount = 1, ttl = nil)
    change(key) do |path, now|
      record = present(path, key, now)
      count = record ? Tiercel::Counter.add(record.bytes, amount, key) : Tiercel::Counter.in_range(amount, key)
      [count, count.to_s, record ? record.expires_at : ttl && now + ttl, next_token]
    end
  end

  def touch(key, ttl)
    change(key) do |path, now|
      record = present(path, key, now) and [true, record.bytes, ttl && now + ttl, record.token]
    end
  end

  # Scans folder by folder, without a lock.
  def scan(prefix = nil)
    return to_enum(:scan, prefix) unless block_given?
    prefix = prefix&.b
    FOLDERS.times do |folder|
      medium { names(folder) }.each do |name|
        next if name.start_with?(TEMPORARY)
        record = medium { Record.read("#{folder_path(folder)}/#{name}", whole: false) } or next
        yield record.key unless record.expired?(Tiercel::Clock.now) || (prefix && !record.key.start_with?(prefix))
      end
    end
  end

  # @return [Integer] how many expired entries were removed
  def cleanup
    now = Tiercel::Clock.now
    remove_if { |path| dead?(path, now) }
  end

  # @return [Hash{Symbol => Integer}] :entries and :bytes on disk of the whole cache; :hits, :misses and :evictions of
  #   this process
  def stats
    bytes, entries = medium { @lock.hold { |ledger| totals(ledger) } }
    { entries:, bytes:, hits: @hit_count, misses: @miss_count, evictions: @evictions }
  end

  def close = nil

  # @private
  # Removes the cache's files, and the folder if nothing else is in it.
  def remove_files
    close
    FileUtils.rm_rf(@root)
    Dir.rmdir(@directory)
  rescue SystemCallError
    nil # the folder has other files, or is already gone
  end

  # The kernel caches the files in memory, so a request-local cache saves little. Rails' FileStore has none either.
  def local_cache? = false

  def to_s = "file:#{@directory}"

  private

  # --- entries ---

  def read(key)
    path = @paths[key]
    record = medium(key) { Record.read(path) }
    if record.nil? || !same?(record, key) || ((expires_at = record.expires_at) && expires_at <= Tiercel::Clock.now)
      @miss_count += 1
      return
    end
    @hit_count += 1
    record
  end

  def present(path, key, now, whole: true)
    record = Record.read(path, whole:)
    record if record && same?(record, key) && !record.expired?(now)
  end

  def same?(record, key) = record.key == key || record.key == key.b

  # Writes an entry under the lock.
  #
  # @yieldparam path [String]
  # @yieldparam now [Float]
  # @yieldreturn [Array(Object, String, Float, Integer), nil] the result of the call, bytes, expiry and token; nil to
  #   write nothing
  # @return [Object] the result, or false
  def change(key)
    path = @paths[key]
    now = Tiercel::Clock.now
    result = added = nil
    medium(key) do
      @lock.hold do |ledger|
        result, *entry = yield path, now
        added = place(ledger, path, key, *entry) if result
      end
    end
    keep_house(added, now) if added
    result || false
  end

  # Writes a temporary file, and renames it into place when it is complete. Begins anew if there is no folder yet, or
  # if another program removes it.
  #
  # @return [Integer] bytes on disk that were added, negative if the size shrank
  def place(ledger, path, key, bytes, expires_at, token)
    attempts ||= 0
    FileUtils.mkdir_p(::File.dirname(path), mode: 0o700) if attempts.positive?
    unnamed = "#{::File.dirname(path)}/#{TEMPORARY}#{Process.pid}-#{token.to_s(16)}"
    head = Record.head(key, bytes, expires_at, token)
    ::File.open(unnamed, WRITE, 0o600, binmode: true) { |file| file.write(head, bytes) }
    before = ::File.size?(path)
    ::File.rename(unnamed, path)
    added = blocks(head.bytesize + bytes.bytesize) - blocks(before || 0)
    note(ledger, path, added, before ? 0 : 1)
    added
  rescue StandardError => error
    FileUtils.rm_f(unnamed)
    raise if !error.is_a?(Errno::ENOENT) || (attempts += 1) > ATTEMPTS
    retry
  end

  # @return [Integer, nil] the bytes on disk that were freed; nil if there was no file
  def remove(ledger, path)
    freed = blocks(::File.size(path))
    ::File.unlink(path)
    note(ledger, path, -freed, -1)
    freed
  rescue Errno::ENOENT, Errno::EISDIR
    nil
  end

  def clear_all = remove_if { true }

  # Visits all files, and holds the lock for a folder at a time.
  #
  # @yieldparam path [String]
  # @return [Integer] number of removed files
  def remove_if
    FOLDERS.times.sum do |folder|
      medium do
        @lock.hold do |ledger|
          survey(ledger, folder, Float::INFINITY).count { |path, _| yield(path) && remove(ledger, path) }
        end
      end
    end
  end

  # --- folders and their ledger: for each folder its bytes and entries ---

  def folder_path(folder) = format("%s/%02x", @root, folder)

  def names(folder)
    Dir.children(folder_path(folder)).select { |name| name.match?(NAMES) }
  rescue Errno::ENOENT
    []
  end

  def blocks(size) = (size + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES

  def note(ledger, path, bytes, entries)
    at = path.byteslice(@root.bytesize + 1, 2).hex * 16
    known = (ledger.pread(16, at) rescue nil) # rubocop:disable Style/RescueModifier
    known_bytes, known_entries = known.to_s.unpack("q<q<")
    ledger.pwrite([[known_bytes.to_i + bytes, 0].max, [known_entries.to_i + entries, 0].max].pack("q<q<"), at)
  end

  # @return [Array(Integer, Integer)] bytes and entries
  def totals(ledger)
    return [0, 0] if ledger.size.zero?
    bytes, entries = ledger.pread(FOLDERS * 16, 0).unpack("q<*").partition.with_index { |_, index| index.even? }
    # A number that no cache has comes from a damaged file: the next visits of its folders correct it.
    [bytes, entries].map { |numbers| numbers.select { |number| number.between?(0, 1 << 50) }.sum }
  end

  # --- housekeeping ---

  # Never waits for the lock. While the cache is too full, repeats the sweep, so that one writer cannot outrun its own
  # eviction. The write has succeeded, so an error here is ignored; the next call meets it and reports it.
  def keep_house(added_bytes, now)
    @added_bytes += added_bytes
    return if (@writes += 1) < INTERVAL && @added_bytes <= @size_bytes * EARLY_SHARE && !@full
    @writes = @added_bytes = 0
    give_up_at = Tiercel::Clock.monotonic + @timeout_seconds
    while (@full = @lock.hold(0.0) { |ledger| sweep(ledger, now) })
      break if Tiercel::Clock.monotonic >= give_up_at
    end
  rescue SystemCallError, Tiercel::FileLock::Busy
    nil
  end

  # Removes the expired entries of a sample, and above the bound its oldest ones. The sample comes from as many folders
  # as needed, because digests spread the entries evenly.
  #
  # @return [Boolean] whether the cache is still larger than its size, and has files
  def sweep(ledger, now)
    excess = totals(ledger).first - (@size_bytes * EVICTING_FILL)
    most, folders = excess.positive? ? [SAMPLE, FOLDERS] : [EASY_SAMPLE, EASY_FOLDERS]
    files = {}
    folders.times do
      files.merge!(survey(ledger, @hand = (@hand + 1) % FOLDERS))
      break if files.size >= most
    end
    dead, alive = files.keys.sample(most * 2).partition { |path| dead?(path, now) }
    dead.each { |path| excess -= remove(ledger, path) || 0 }
    alive.min_by((alive.size * EVICTED_SHARE).ceil) { |path| files[path].mtime }.each do |path|
      break unless excess.positive?
      freed = remove(ledger, path) or next
      excess -= freed
      @evictions += 1
    end
    files.any? && excess > @size_bytes * (1 - EVICTING_FILL)
  end

  # Counts a small folder anew. Users delete files too, and a process that is killed after a change, before it records
  # the change, leaves a wrong number.
  #
  # @return [Hash{String => ::File::Stat}] the folder's files by path; a sample of a large folder's files
  def survey(ledger, folder, most = RECOUNTED_FILES)
    names = names(folder)
    small = names.size <= most
    files = (small ? names : names.sample(SAMPLE)).to_h do |name|
      path = "#{folder_path(folder)}/#{name}"
      [path, (::File.stat(path) rescue nil)] # rubocop:disable Style/RescueModifier
    end
    files.select! { |_, stat| stat&.file? }
    ledger.pwrite([files.each_value.sum { |stat| blocks(stat.size) }, files.size].pack("q<q<"), folder * 16) if small
    files
  end

  # An unfinished file belongs to a killed writer, because a living writer would hold this lock. (A writer whose lock
  # file was removed writes its entry again.)
  #
  # @return [Boolean] whether the file is unfinished, or its entry has expired or is damaged
  def dead?(path, now)
    return true if ::File.basename(path).start_with?(TEMPORARY)
    record = Record.read(path, whole: false)
    record.nil? || record.expired?(now)
  end

  # Checks the owner until the folder exists, because another user could create the folder first.
  def medium(key = nil)
    unless @claimed
      objection = Tiercel::Ownership.objection(@root) and raise Tiercel::Refused.new(objection, backend: to_s, key:)
      @claimed = ::File.directory?(@root)
    end
    yield
  rescue StandardError => error
    raise translated(error, key)
  end
end
