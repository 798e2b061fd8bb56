# frozen_string_literal: true

module Tiercel
  module Backends
    class File < Backend
      # Keeps the folders within their limits in small, bounded steps during writes: records hits, removes expired
      # entries and leftovers of killed writers, and evicts.
      #
      # The digests spread the entries evenly, so a folder (or some names of a large one) is a random sample. A round
      # removes the sample's expired entries first, then its least recently used ones.
      class Housekeeping
        # Number of writes between two rounds. A round starts earlier once this fraction of `size` was added.
        INTERVAL = 32
        EARLY_SHARE = 1.0 / 256
        # Files in one sample, and samples in one round.
        SAMPLE = 64
        LOOKS = 16
        # Maximum number of folders in a sample that only looks for expired entries. If space is needed, a sample of a
        # small cache covers all folders.
        FOLDERS_OF_A_LOOK = 32
        # At most this fraction of each sample is evicted, so that the choice stays selective.
        EVICTED_SHARE = 0.25
        # The entries of a folder with more files are not recounted.
        RECOUNTED = 1_024
        # Number of recorded hits that one round writes, and that are kept in memory.
        FLUSHED_HITS = 32
        NOTED_HITS = 4_096
        # Fill levels at which hits are recorded and at which eviction begins.
        NOTING_FILL = 0.75
        EVICTING_FILL = 0.96
        # Maximum time that one write spends on evictions if the cache exceeds `size`; the next write continues.
        PATIENCE_SECONDS = 0.25

        # A file of the cache as a sample found it.
        Seen = Struct.new(:folder, :path, :size, :used_at, :ends_at, :inode) do
          # @return [Boolean] whether it was neither replaced nor used since the sample
          def same?
            stat = ::File.stat(path)
            stat.ino == inode && stat.mtime.to_f == used_at
          rescue Errno::ENOENT
            false
          end
        end
        private_constant :Seen

        # @return [Integer] entries that this process evicted
        attr_reader :evictions
        # @return [Boolean] whether reads are recorded at present
        attr_reader :noting

        # @param folders [Folders]
        # @param settings [Settings]
        def initialize(folders, settings)
          @folders = folders
          @settings = settings
          @interval = settings.max_entries ? (settings.max_entries / 20).clamp(1, INTERVAL) : INTERVAL
          @patience_seconds = [settings.timeout_seconds, PATIENCE_SECONDS].min
          # The distance between `size` and the target of evictions.
          @slack_bytes = settings.size_bytes - target_bytes
          @writes = @added_bytes = @evictions = 0
          @above_size = false
          @hits = {}
          @noting = !settings.max_entries.nil?
          @hand = rand(Layout::FOLDERS)
        end

        # Records in memory that an entry was read, while {#noting}; a later round writes it. A read never writes.
        #
        # @param path [String]
        # @param expires_at [Float, nil]
        def hit(path, expires_at)
          @hits[path] = expires_at if @hits.size < NOTED_HITS
        end

        # Records that a caller with a copy of the entry has read it.
        #
        # @param path [String]
        def used(path) = !@noting || @hits.key?(path) || hit(path, Folders::UNKNOWN)

        # @param added_bytes [Integer] number of added bytes on disk
        # @return [Boolean] whether a round is due
        def due?(added_bytes)
          @added_bytes += added_bytes
          (@writes += 1) >= @interval || @added_bytes > @settings.size_bytes * EARLY_SHARE || @above_size
        end

        # Runs one round: a sweep, and further ones while the cache exceeds `size`, for example after large values
        # have replaced small ones.
        #
        # @param now [Float]
        def round(now)
          @writes = @added_bytes = 0
          flush_hits(now)
          give_up_at = Clock.monotonic + @patience_seconds
          loop do
            bytes, entries = excess
            @above_size = bytes > @slack_bytes
            @above_size ? urgent_sweep(bytes, now) : sweep(bytes, entries, now)
            break if !@above_size || Clock.monotonic >= give_up_at
          end
        end

        # Removes the expired entries of one folder, some files at a time.
        #
        # @param folder [Integer]
        # @return [Integer] how many entries were removed
        def remove_ended(folder, now)
          @folders.names(folder).each_slice(SAMPLE).sum do |names|
            @folders.hold(folder) do |stripe|
              look(folder, names).count { |seen| ended?(seen, now, trust: false) && @folders.remove(stripe, seen.path) }
            end
          end
        end

        # @return [void]
        def forget = @hits.clear

        private

        def flush_hits(now)
          # Another thread may have emptied the Hash, hence compact.
          notes = Array.new([FLUSHED_HITS, @hits.size].min) { @hits.shift }.compact
          notes.each do |path, expires_at|
            @folders.note_use(path, now, expires_at)
          end
        end

        def target_bytes = (@settings.size_bytes * EVICTING_FILL).to_i

        # @return [Array(Integer, Integer)] bytes and entries to remove; negative if there is free space
        def excess
          bytes, entries = @folders.totals
          bounded = @settings.max_entries
          @noting = bytes.fdiv(@settings.size_bytes) >= NOTING_FILL || !bounded.nil?
          [bytes - target_bytes, bounded ? entries - bounded : 0]
        end

        def sweep(bytes, entries, now)
          LOOKS.times do
            folders = bytes.positive? || entries.positive? ? Layout::FOLDERS : FOLDERS_OF_A_LOOK
            seen = survey(folders)
            bytes, entries = make_room(seen.size > SAMPLE ? seen.sample(SAMPLE) : seen, bytes, entries, now)
            break if bytes <= 0 && entries <= 0
          end
        end

        # A sweep whose sample comes from all folders.
        def urgent_sweep(bytes, now) = make_room(survey(Layout::FOLDERS, RECOUNTED), bytes, 0, now)

        # Removes the sample's expired entries, then its least recently used ones.
        #
        # @return [Array(Integer, Integer)] bytes and entries that still must be removed
        def make_room(files, bytes, entries, now)
          ended, alive = files.partition { |seen| ended?(seen, now) }
          bytes, entries = remove(ended, bytes, entries)
          evicted = victims(alive, bytes, entries)
          @evictions += evicted.size
          remove(evicted, bytes, entries)
        end

        # Collects a sample of files from as many folders as needed.
        def survey(folders, files_of_a_large_one = SAMPLE)
          seen = []
          folders.times do
            folder = @hand = (@hand + 1) % Layout::FOLDERS # another thread may have moved the hand
            @folders.hold(folder) { |stripe| seen.concat(visit(stripe, folder, files_of_a_large_one)) }
            break if seen.size >= SAMPLE
          end
          seen
        end

        def visit(stripe, folder, files_of_a_large_one)
          names = @folders.names(folder)
          return look(folder, names.sample(files_of_a_large_one)) if names.size > RECOUNTED
          look(folder, names).tap { |files| recount(stripe, folder, files) }
        end

        # Keeps files that another process wrote or used since the sample was taken.
        #
        # @return [Array(Integer, Integer)] bytes and entries that still must be removed
        def remove(files, bytes, entries)
          files.group_by(&:folder).each do |folder, together|
            @folders.hold(folder) do |stripe|
              together.each { |seen| @folders.remove(stripe, seen.path, seen.size) if seen.same? }
            end
          end
          [bytes - bytes_of(files), entries - files.size]
        end

        def look(folder, names)
          at = @folders.layout.folder(folder)
          names.filter_map do |name|
            path = "#{at}/#{name}"
            next leftover(path) if Layout.temporary?(name)
            stat = ::File.stat(path)
            Seen.new(folder, path, stat.size, stat.mtime.to_f, stat.atime.to_f, stat.ino)
          rescue Errno::ENOENT
            nil
          end
        end

        # The writer held this lock, so it must have died.
        def leftover(path)
          ::File.unlink(path)
          nil
        end

        def recount(stripe, folder, files)
          stripe.correct(folder, bytes_of(files) + @folders.own_bytes(folder), files.size)
        end

        def victims(files, bytes, entries)
          return [] if bytes <= 0 && entries <= 0
          files.min_by((files.size * EVICTED_SHARE).ceil, &:used_at).take_while do |seen|
            wanted = bytes.positive? || entries.positive?
            bytes -= @folders.blocks(seen.size)
            entries -= 1
            wanted
          end
        end

        # The access time is only a hint, because mount options differ; the file's header decides.
        def ended?(seen, now, trust: true)
          return false if trust && seen.ends_at > now
          record = Record.read(seen.path, whole: false)
          record.nil? || record.ended?(now)
        end

        def bytes_of(files) = files.sum { |seen| @folders.blocks(seen.size) }
      end
    end
  end
end
