# frozen_string_literal: true

require "securerandom"
require "zlib"

require_relative "../../clock"

module Tiercel
  class Tiers < Backend
    class Journal
      # What all processes of a machine keep: a file beside the segment, with its permissions. There is something in it
      # only while the last tier takes no changes, or some are still to be repeated.
      #
      #   header   generation (8 random bytes) | who repeats (8 random bytes, or zeros) | until when (monotonic
      #            seconds) | how many bytes of the records are done | where the records end
      #   record   bytes of its text | CRC-32 of kind and text | kind | text: a key, a prefix or a pattern
      #
      # All is done under a lock of the file (flock), which is held for moments. Who repeats says so in the header and
      # lets go of the lock meanwhile; if he dies, his time ends, and another one begins where he was. The generation
      # changes whenever records go, so that a process knows whether what it has noted is still there. Where the records
      # end is written after them: what a killed process, or a full disk, has left in the middle was never there.
      #
      # @private
      class File
        HEADER = "a8a8EQ<Q<"
        HEADER_BYTES = 40
        RECORD = "L<L<C"
        RECORD_BYTES = 9
        KEY, PREFIX, LOST, PATTERN = 1, 2, 3, 4
        NOBODY = ("\0" * 8).b.freeze
        # Who repeats says again that he does, for each batch.
        TERM_SECONDS = 5.0
        # How long the lock is waited for, and between two tries.
        PATIENCE_SECONDS = 0.1
        PAUSE_SECONDS = 0.0005
        # More is not read at a time, whoever made the file.
        MOST_READ_BYTES = 2 * MOST_BYTES
        # How often the file is opened again, where others remove it.
        ATTEMPTS = 3
        # Raised where others have the lock for too long.
        class Busy < StandardError; end
        # Raised for what somebody else has put there.
        class Foreign < StandardError; end
        # Raised where others have noted more than it takes.
        class Full < StandardError; end
        UNUSABLE = [SystemCallError, Foreign, Full].freeze
        # It is there, and this process cannot open it at present.
        EXHAUSTED = [Errno::EMFILE, Errno::ENFILE, Errno::ENOMEM].freeze
        Header = Struct.new(:generation, :repeating, :ends_at, :done, :finish) do
          def to_s = to_a.pack(HEADER)
        end
        private_constant :Header, :UNUSABLE, :EXHAUSTED

        # @param segment_path [String]
        # @param far [String] what the last tier is: stacks over one segment may have different ones
        def initialize(segment_path, far)
          @segment_path = segment_path
          @path = "#{segment_path}.journal-#{Zlib.crc32(far).to_s(36)}"
          @noted = {}
          @generation = nil
        end

        # @return [Boolean]
        def pending? = !::File.size?(@path).nil?

        # @return [Boolean] false if it could not be
        def note(keys, prefix) = note_all(KEY, keys, prefix)

        # @return [Boolean] false if it could not be
        def note_matching(pattern, prefix) = note_all(PATTERN, [pattern], prefix)

        # @return [Boolean] false if it could not be
        def note_clear(prefix)
          locked(create: true) { |file, header| append_clear(file, header, prefix) }
          true
        rescue *UNUSABLE, Busy
          false
        end

        # @param give_up_at [Float] of the monotonic clock
        # @yieldparam changes [Changes]
        # @yieldreturn [Symbol, Object] :stays where none of it could be done: then it stays, and what is behind it
        # @return [Boolean, nil] nil: something stays
        def repeat(give_up_at, &)
          name = SecureRandom.bytes(8)
          while (bytes, from = take(name)) && !bytes.empty?
            changes, done = part(bytes)
            stays = true
            begin
              stays = (yield changes) == :stays
            ensure
              finish(name, from, stays ? 0 : done)
            end
            return if stays
            break if Clock.monotonic >= give_up_at
          end
          !pending?
        rescue Busy, *EXHAUSTED
          false
        rescue *UNUSABLE
          true # it is gone, or was never ours
        end

        private

        def note_all(kind, texts, prefix)
          locked(create: true) do |file, header|
            fresh = unnoted(texts.map { |text| record(kind, text) }, header)
            records = fresh.join
            room = header.finish + records.bytesize <= MOST_BYTES && @noted.size + fresh.size <= MOST_KEYS
            room ? append(file, header, records, fresh) : append_clear(file, header, prefix)
          end
          true
        rescue *UNUSABLE, Busy
          false
        end

        # @return [Array<String>] what this process has not noted since records went last
        def unnoted(keys, header)
          @noted = {} if header.generation != @generation
          @generation = header.generation
          return keys unless header.repeating == NOBODY # what has been repeated by now is to be repeated again
          keys.reject { |key| @noted[key] }
        end

        def append(file, header, records, noted)
          return if records.empty?
          raise Full if header.finish + records.bytesize > MOST_READ_BYTES
          write(file, records, header.finish)
          header.finish += records.bytesize
          write(file, header.to_s, 0)
          noted.each { |key| @noted[key] = true }
        end

        def write(file, bytes, at)
          raise Errno::ENOSPC if file.pwrite(bytes, at) < bytes.bytesize
        end

        # In the place of keys; once in each process.
        def append_clear(file, header, prefix)
          name = [prefix]
          return if unnoted([name], header).empty?
          append(file, header, prefix ? record(PREFIX, prefix) : record(LOST, ""), [name])
        end

        def record(kind, text) = [text.bytesize, crc(kind, text), kind].pack(RECORD) << text.b
        def crc(kind, text) = Zlib.crc32(text, Zlib.crc32([kind].pack("C")))

        # @return [Array(String, Array), nil] records that are to be repeated, and where they are; nil while somebody
        #   else is at it
        def take(name)
          locked do |file, header|
            next if ![NOBODY, name].include?(header.repeating) && holds?(header)
            at = HEADER_BYTES + header.done
            next [empty(file), nil] if at >= header.finish
            header.repeating = name
            header.ends_at = Clock.monotonic + TERM_SECONDS
            write(file, header.to_s, 0)
            [file.pread([header.finish - at, MOST_READ_BYTES].min, at), [header.generation, header.done]]
          end
        end

        # A machine that was started again has another clock.
        def holds?(header)
          left = header.ends_at - Clock.monotonic
          left.positive? && left <= TERM_SECONDS
        end

        def empty(file)
          file.truncate(0)
          ""
        end

        # A batch of records, and how many bytes they have. What is damaged is lost, with what comes after it.
        def part(bytes)
          changes = Changes.new([], [], [], false)
          at = 0
          while at < bytes.bytesize && changes.keys.size + changes.patterns.size < BATCH
            kind, text, at = parse(bytes, at)
            case kind
            when KEY then changes.keys << text
            when PREFIX then changes.prefixes << text
            when PATTERN then changes.patterns << text
            else changes.lost = true
            end
          end
          [changes, at]
        end

        def parse(bytes, at)
          size, crc, kind = bytes.unpack(RECORD, offset: at) if bytes.bytesize - at >= RECORD_BYTES
          following = at + RECORD_BYTES + size.to_i
          text = bytes.byteslice(at + RECORD_BYTES, size) if kind && following <= bytes.bytesize
          return [LOST, nil, bytes.bytesize] if text.nil? || crc(kind, text) != crc || (kind != LOST && text.empty?)
          [kind, text.force_encoding(Encoding::UTF_8), following]
        end

        # Unless somebody else has done it meanwhile. Who took over and is still at it has begun where this one did.
        def finish(name, from, done)
          locked do |file, header|
            next if from != [header.generation, header.done] || (done.zero? && header.repeating != name)
            next empty(file) if HEADER_BYTES + (header.done += done) >= header.finish
            header.repeating = NOBODY
            header.generation = SecureRandom.bytes(8) if done.positive?
            write(file, header.to_s, 0)
          end
        rescue *UNUSABLE, Busy
          nil # it is repeated again
        end

        # Runs the block with the file and its header, alone among all threads and processes.
        def locked(create: false)
          ATTEMPTS.times do
            ::File.open(@path, flags(create), create ? mode : 0) do |file|
              check(file) # first: whose file it is may keep it locked
              lock(file)
              return yield(file, header_of(file)) if current?(file)
            end
          end
          raise Busy
        end

        def flags(create)
          ::File::RDWR | ::File::NOFOLLOW | ::File::NONBLOCK | ::File::BINARY | (create ? ::File::CREAT : 0)
        end

        def mode = ::File.stat(@segment_path).mode & 0o666

        def lock(file)
          give_up_at = Clock.monotonic + PATIENCE_SECONDS
          until file.flock(::File::LOCK_EX | ::File::LOCK_NB)
            raise Busy if Clock.monotonic >= give_up_at
            sleep(PAUSE_SECONDS)
          end
        end

        # Where everybody may create files, another user may have put one there.
        def check(file)
          stat = file.stat
          owners = [Process.euid, ::File.stat(@segment_path).uid]
          raise Foreign unless stat.file? && owners.include?(stat.uid) && stat.nlink <= 1
          file.chmod(mode) if stat.size.zero? && stat.owned? && stat.mode & 0o666 != mode
        end

        def current?(file)
          there = ::File.lstat(@path)
          stat = file.stat
          there.ino == stat.ino && there.dev == stat.dev
        rescue Errno::ENOENT
          false
        end

        # Nothing was noted where there is no end of it, or where more is done than there is.
        def header_of(file)
          bytes = file.size >= HEADER_BYTES ? file.pread(HEADER_BYTES, 0) : ""
          header = Header.new(*bytes.unpack(HEADER)) if bytes.bytesize == HEADER_BYTES
          header&.finish = [header.finish, file.size].min
          return header if header && HEADER_BYTES + header.done <= header.finish
          Header.new(SecureRandom.bytes(8), NOBODY, 0.0, 0, HEADER_BYTES)
        end
      end
    end
  end
end
