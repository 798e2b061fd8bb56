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

        # A file of the cache, as a sweep sees it.
        Seen = Struct.new(:folder, :path, :size, :used_at, :ends_at)
        private_constant :Seen

        # @return [Integer] entries that this process evicted
        attr_reader :evictions

        # @param folders [Folders]
        # @param settings [Settings]
        def initialize(folders, settings)
          @folders = folders
          @settings = settings
          @interval = settings.max_entries ? (settings.max_entries / 20).clamp(1, INTERVAL) : INTERVAL
          @writes = @added_bytes = @evictions = 0
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

        # @param added_bytes [Integer] on disk
        # @return [Boolean] whether a round is due
        def due?(added_bytes)
          @added_bytes += added_bytes
          (@writes += 1) >= @interval || @added_bytes > @settings.size_bytes * EARLY_SHARE
        end

        # One round.
        #
        # @param now [Float]
        def round(now)
          @writes = @added_bytes = 0
          flush_hits(now)
          bytes, entries = @folders.totals
          fill = bytes.fdiv(@settings.size_bytes)
          @noting = fill >= NOTING_FILL || !@settings.max_entries.nil?
          bytes -= (@settings.size_bytes * EVICTING_FILL).to_i
          entries -= @settings.max_entries if @settings.max_entries
          sweep(bytes, @settings.max_entries ? entries : 0, now)
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

        def sweep(bytes, entries, now)
          LOOKS.times do
            ended, alive = survey.partition { |seen| ended?(seen, now) }
            bytes, entries = remove(ended, bytes, entries)
            evicted = victims(alive, bytes, entries)
            @evictions += evicted.size
            bytes, entries = remove(evicted, bytes, entries)
            break if bytes <= 0 && entries <= 0
          end
        end

        # A sample of files, out of as many folders as it takes.
        def survey
          seen = []
          FOLDERS_OF_A_LOOK.times do
            folder = @hand = (@hand + 1) % Layout::FOLDERS # another thread may move the hand on meanwhile
            @folders.hold(folder) { |stripe| seen.concat(visit(stripe, folder)) }
            break if seen.size >= SAMPLE
          end
          seen.size > SAMPLE ? seen.sample(SAMPLE) : seen
        end

        def visit(stripe, folder)
          names = @folders.names(folder)
          return look(folder, names.sample(SAMPLE)) if names.size > RECOUNTED
          look(folder, names).tap { |files| recount(stripe, folder, files) }
        end

        # @return [Array(Integer, Integer)] bytes and entries that are still to go
        def remove(files, bytes, entries)
          files.group_by(&:folder).each do |folder, together|
            @folders.hold(folder) { |stripe| together.each { |seen| @folders.remove(stripe, seen.path) } }
          end
          [bytes - bytes_of(files), entries - files.size]
        end

        def look(folder, names)
          at = @folders.layout.folder(folder)
          names.filter_map do |name|
            path = "#{at}/#{name}"
            next leftover(path) if Layout.temporary?(name)
            stat = ::File.stat(path)
            Seen.new(folder, path, stat.size, stat.mtime.to_f, stat.atime.to_f)
          rescue Errno::ENOENT
            nil
          end
        end

        # Who wrote it held this lock and is gone.
        def leftover(path)
          ::File.unlink(path)
          nil
        end

        def recount(stripe, folder, files)
          return if files.empty?
          stripe.put(folder, bytes_of(files) + @folders.blocks(::File.size(@folders.layout.folder(folder))), files.size)
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
