# frozen_string_literal: true

require_relative "../backend"
require_relative "../counter"
require_relative "disk_tokens"
require_relative "../ownership"
require_relative "file/settings"
require_relative "file/layout"
require_relative "file/record"
require_relative "file/folders"
require_relative "file/housekeeping"

module Tiercel
  module Backends
    # Stores each entry in its own file below a folder: `file:DIR`, for memory file systems, disks and NFS. See
    # docs/files.md.
    #
    # Readers need no lock, because a complete file is renamed into place. Every change holds the lock of the entry's
    # folder.
    class File < Backend
      REFUSALS = [
        Errno::EACCES, Errno::EPERM, Errno::EROFS, Errno::ENOSPC, Errno::EDQUOT, Errno::EFBIG, Errno::EMLINK,
        Errno::ENAMETOOLONG,
      ].freeze

      # @return [Array<Symbol>] names of the options of {.build}
      def self.option_names = %i[size max_entries timeout]

      # @param url [BackendURL] `file:DIR`, relative to the current folder or absolute
      # @param options [Hash] see {Settings#initialize}
      # @return [File]
      # @raise [ConfigurationError]
      def self.build(url, options) = new(url.place, **options)

      # @param directory [String] a folder that may contain other files; the cache creates its own folder in it
      # @param options [Hash] see {Settings#initialize}
      # @raise [ConfigurationError] also for another user's folder if everybody may write there
      def initialize(directory, **options)
        if directory.to_s.empty?
          raise ConfigurationError, "file: expected a folder, such as \"file:tmp/cache\", got none"
        end
        @directory = ::File.expand_path(directory.to_s).force_encoding(Encoding::UTF_8) # for messages
        @settings = Settings.new(**options)
        @folders = Folders.new(@directory, @settings)
        @layout = @folders.layout
        @paths = @layout.paths
        objection = Ownership.objection(@layout.root) and raise ConfigurationError, "file: #{objection}"
        @housekeeping = Housekeeping.new(@folders, @settings)
        @tokens = DiskTokens.new
        @hit_count = @miss_count = 0
      end

      def get(key) = counted(key)&.bytes

      def get_with_token(key)
        record = counted(key)
        [record.bytes, record.token] if record
      end

      def set(key, bytes, ttl = nil)
        return refuse(key) if too_large?(bytes)
        now = Clock.now
        change(key, now) { |stripe, path| put(stripe, path, key, bytes, ttl && now + ttl, now) }
        true
      end

      def add(key, bytes, ttl = nil)
        return false if too_large?(bytes)
        now = Clock.now
        change(key, now) do |stripe, path|
          put(stripe, path, key, bytes, ttl && now + ttl, now) unless present(path, key, now, whole: false)
        end
      end

      def compare_and_set(key, bytes, token, ttl = nil)
        return false if too_large?(bytes)
        now = Clock.now
        change(key, now) do |stripe, path|
          put(stripe, path, key, bytes, ttl && now + ttl, now) if present(path, key, now, whole: false)&.token == token
        end
      end

      def delete(key)
        now = Clock.now
        medium(key) do
          path = @paths[key]
          @folders.hold(@layout.folder_of(path)) do |stripe|
            present(path, key, now, whole: false) ? @folders.remove(stripe, path) : false
          end
        end
      end

      def increment(key, amount = 1, ttl = nil)
        now = Clock.now
        count = nil
        change(key, now) do |stripe, path|
          record = present(path, key, now)
          count = record ? Counter.add(record.bytes, amount, key) : Counter.in_range(amount, key)
          put(stripe, path, key, count.to_s, record ? record.expires_at : ttl && now + ttl, now)
        end
        count
      end

      def touch(key, ttl)
        now = Clock.now
        change(key, now) do |stripe, path|
          record = present(path, key, now)
          put(stripe, path, key, record.bytes, ttl && now + ttl, now, token: record.token) if record
        end
      end

      # Scans folder by folder, without a lock.
      def scan(prefix = nil)
        return to_enum(:scan, prefix) unless block_given?
        prefix = prefix&.b
        each_record do |record|
          next if record.ended?(Clock.now)
          yield record.key if prefix.nil? || record.key.start_with?(prefix)
        end
      end

      # @return [Integer] how many expired entries were removed
      def cleanup
        medium { Layout::FOLDERS.times.sum { |folder| @housekeeping.remove_ended(folder, Clock.now) } }
      end

      def uses_wanted? = @housekeeping.noting

      # @private
      # Removes the cache's files, and the folder if nothing else is in it.
      #
      # @return [void]
      def remove_files
        close
        FileUtils.rm_rf(@layout.root)
        Dir.rmdir(@directory)
      rescue SystemCallError
        nil # the folder has other files, or is already gone
      end

      def used(keys) = keys.each { |key| @housekeeping.used(@paths[key]) }

      # @return [Hash{Symbol => Integer}] :entries and :bytes on disk of the whole cache; :hits, :misses and
      #   :evictions of this process
      def stats
        bytes, entries = medium { @folders.totals }
        { entries: entries, bytes: bytes, hits: @hit_count, misses: @miss_count, evictions: @housekeeping.evictions }
      end

      def close
        @housekeeping.forget
        @folders.close
      end

      # The kernel caches the files in memory; Rails mounts no local cache in front of its FileStore either.
      def local_cache? = false

      # @private
      # @return [Integer] evictions by this process
      def evictions = @housekeeping.evictions

      def to_s = "file:#{@directory}"

      private

      CLEARED_FILES = 256
      private_constant :CLEARED_FILES

      def counted(key)
        path = @paths[key]
        record = medium(key) { Record.read(path) }
        if record.nil? || !same?(record, key) || ((expires_at = record.expires_at) && expires_at <= Clock.now)
          @miss_count += 1
          return
        end
        @hit_count += 1
        @housekeeping.hit(path, expires_at) if @housekeeping.noting
        record
      end

      def present(path, key, now, whole: true)
        record = Record.read(path, whole: whole)
        record if record && same?(record, key) && !record.ended?(now)
      end

      def same?(record, key) = record.key == key || record.key == key.b

      # Runs the block with the lock of the key's folder.
      #
      # @yieldreturn [Integer, nil] number of added bytes; nil if nothing was written
      # @return [Boolean] whether something was written
      def change(key, now)
        path = @paths[key]
        added = medium(key) { @folders.hold(@layout.folder_of(path)) { |stripe| yield stripe, path } }
        return false unless added
        keep_house(added, now)
        true
      end

      def put(stripe, path, key, bytes, expires_at, now, token: @tokens.next)
        @folders.put(stripe, path, key, bytes, expires_at, token, now)
      end

      # The write has succeeded, so an error here is ignored; the next call meets it and reports it.
      def keep_house(added_bytes, now)
        @housekeeping.round(now) if @housekeeping.due?(added_bytes)
      rescue SystemCallError, FileLock::Busy
        nil
      end

      def too_large?(bytes) = bytes.bytesize > @settings.largest_value_bytes

      def refuse(key)
        delete(key)
        false
      end

      def each_record
        Layout::FOLDERS.times do |folder|
          medium { @folders.names(folder) }.each do |name|
            next if Layout.temporary?(name)
            record = medium { Record.read("#{@layout.folder(folder)}/#{name}", whole: false) }
            yield record if record
          end
        end
      end

      def clear_all
        @housekeeping.forget
        Layout::FOLDERS.times do |folder|
          medium { @folders.names(folder) }.each_slice(CLEARED_FILES) do |names|
            medium do
              @folders.hold(folder) do |stripe|
                names.each { |name| @folders.remove(stripe, "#{@layout.folder(folder)}/#{name}") }
              end
            end
          end
        end
      end

      # Checks the owner until the folder exists, because another user could create the folder first.
      def claim(key)
        objection = Ownership.objection(@layout.root) and raise Refused.new(objection, backend: to_s, key: key)
        @claimed = ::File.directory?(@layout.root)
      end

      def medium(key = nil)
        claim(key) unless @claimed
        yield
      rescue FileLock::Busy
        raise TimedOut.new("locked for more than #{(@settings.timeout_seconds * 1000).round} ms",
                           backend: to_s, key: key)
      rescue *REFUSALS => error
        raise Refused.new(error.message, backend: to_s, key: key)
      rescue SystemCallError, IOError => error
        raise Unavailable.new("#{error.class}: #{error.message}", backend: to_s, key: key)
      end
    end
  end
end
