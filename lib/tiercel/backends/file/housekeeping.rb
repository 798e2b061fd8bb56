# frozen_string_literal: true

module Tiercel
  module Backends
    class File < Backend
      # Keeps the folders in their bounds, in small bounded steps that writes
      # bring with them: takes noted hits over, drops what has ended and what
      # killed writers left, evicts.
      #
      # The digests spread the entries evenly, so that a folder (or some names
      # out of a large one) is a random sample. Of each those go whose TTL is
      # over, then those that were not used for longest.
      class Housekeeping
        # Writes between two rounds, and the share of `size` after which one comes earlier.
        INTERVAL = 32
        EARLY_SHARE = 1.0 / 256
        # Files of one look, and looks of one round.
        SAMPLE = 64
        LOOKS = 16
        # Folders of a look that only seeks what has ended; where room is made, a small cache is looked at whole.
        FOLDERS_OF_A_LOOK = 32
        # Of each look at most this share goes, so that the choice is worth its name.
        EVICTED_SHARE = 0.25
        # Folders of more files are not counted anew.
        RECOUNTED = 1_024
        # Notes of hits that one round takes along, and that are kept.
        FLUSHED_HITS = 32
        NOTED_HITS = 4_096
        # Fill from which hits are noted, and from which room is made.
        NOTING_FILL = 0.75
        EVICTING_FILL = 0.96
        # How long one write makes room where the cache is larger than `size`; the next one goes on.
        PATIENCE_SECONDS = 0.25

        # A file of the cache, as a sweep sees it.
        Seen = Struct.new(:folder, :path, :size, :used_at, :ends_at, :inode) do
          # @return [Boolean] whether it was neither replaced nor used since
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

        # @param folders [Folders]
        # @param settings [Settings]
        def initialize(folders, settings)
          @folders = folders
          @settings = settings
          @interval = settings.max_entries ? (settings.max_entries / 20).clamp(1, INTERVAL) : INTERVAL
          @patience_seconds = [settings.timeout_seconds, PATIENCE_SECONDS].min
          # The room between the fill that sweeps aim at and `size`.
          @slack_bytes = settings.size_bytes - target_bytes
          @writes = @added_bytes = @evictions = 0
          @above_size = false
          @hits = {}
          @noting = !settings.max_entries.nil?
          @hand = rand(Layout::FOLDERS)
        end

        # Notes that an entry was read, for a later round. Reading never writes.
        #
        # @param path [String]
        # @param expires_at [Float, nil]
        def hit(path, expires_at)
          @hits[path] = expires_at if @noting && @hits.size < NOTED_HITS
        end

        # @return [Boolean] whether reads are worth noting
        def noting? = @noting

        # Notes that an entry was read by somebody who has a copy of it.
        #
        # @param path [String]
        def used(path) = @hits.key?(path) || hit(path, Folders::UNKNOWN)

        # @param added_bytes [Integer] on disk
        # @return [Boolean] whether a round is due
        def due?(added_bytes)
          @added_bytes += added_bytes
          (@writes += 1) >= @interval || @added_bytes > @settings.size_bytes * EARLY_SHARE || @above_size
        end

        # One round: a sweep, and more of them while the cache is larger than `size`, as it is where large values
        # follow many small ones.
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

        # Removes what has ended in one folder, some files at a time.
        #
        # @param folder [Integer]
        # @return [Integer] how many went
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
          # Another thread may have been quicker, hence compact.
          notes = Array.new([FLUSHED_HITS, @hits.size].min) { @hits.shift }.compact
          notes.each do |path, expires_at|
            @folders.note_use(path, now, expires_at)
          end
        end

        def target_bytes = (@settings.size_bytes * EVICTING_FILL).to_i

        # @return [Array(Integer, Integer)] bytes and entries that are to go; negative where there is room
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

        # One look that takes all it sees into account.
        def urgent_sweep(bytes, now) = make_room(survey(Layout::FOLDERS, RECOUNTED), bytes, 0, now)

        # Of some files those go that have ended, then the ones that were not used for longest.
        #
        # @return [Array(Integer, Integer)] bytes and entries that are still to go
        def make_room(files, bytes, entries, now)
          ended, alive = files.partition { |seen| ended?(seen, now) }
          bytes, entries = remove(ended, bytes, entries)
          evicted = victims(alive, bytes, entries)
          @evictions += evicted.size
          remove(evicted, bytes, entries)
        end

        # A sample of files, out of as many folders as it takes.
        def survey(folders, files_of_a_large_one = SAMPLE)
          seen = []
          folders.times do
            folder = @hand = (@hand + 1) % Layout::FOLDERS # another thread may move the hand on meanwhile
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

        # Keeps files that another process wrote or used since the look.
        #
        # @return [Array(Integer, Integer)] bytes and entries that are still to go
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

        # The writer held this lock and is gone.
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

        # The access time is only a hint (mounts differ): the file has the last word.
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
