# frozen_string_literal: true

require "securerandom"
require "zlib"

require_relative "../../clock"
require_relative "locked_file"

module Tiercel
  class Tiers < Backend
    class Journal
      # The notes of a machine in a file, or those of a process in memory. The file is empty while no key is pending.
      #
      #   header   generation (8 random bytes) | owner (8 random bytes, or zeros) | end of its term (monotonic
      #            seconds) | head | taken | tail
      #   slots    for each hash of a key the position of its latest record
      #   ring     records from head to tail; taken is the end of the page that the owner replays
      #   record   bytes of the key | CRC-32 of kind and key | kind | time of the note | position of the former record
      #            of the slot | the key
      #
      # Positions only grow. A position modulo the capacity is a place in the ring. A writer holds the file's lock
      # (flock) for moments. The writer stores the records, then the header, then the slots. A killed writer leaves at
      # most a record without its slot, and its caller got no answer.
      #
      # A reader takes no lock: it follows the slot's chain down to the head.
      #
      # @private
      class Ring
        HEADER = "a8a8EQ<Q<Q<"
        HEADER_BYTES = 48
        SLOTS = 65_536
        SLOT_BYTES = 8
        RECORDS_AT = HEADER_BYTES + (SLOTS * SLOT_BYTES)
        CAPACITY = MOST_BYTES - RECORDS_AT
        RECORD = "L<L<CEQ<"
        RECORD_BYTES = 25
        NO_OWNER = ("\0" * 8).b.freeze
        # An owner renews its term with each page. A stopped owner loses it.
        TERM_SECONDS = 5.0
        Header = Struct.new(:generation, :owner, :ends_at, :head, :taken, :tail) do
          def to_s = to_a.pack(HEADER)
        end
        Record = Struct.new(:key, :kind, :at, :former, :finish, :intact)
        Taken = Struct.new(:owner, :generation, :head, :finish, :page)
        private_constant :Header, :Record, :Taken

        # @param file [LockedFile, MemoryFile]
        # @param delay [Float] seconds between a note and its replay
        def initialize(file, delay)
          @file = file
          @delay = delay
        end

        # @return [Boolean]
        def pending? = @file.filled?

        # @param key [String]
        # @return [Boolean]
        def include?(key)
          return false unless pending?
          @file.open do |file|
            position = slot(file, key) # before the header: a record is in the tail before it is in a slot
            header = header_at(file) or next file.size.positive?
            noted?(file, position, key, header.head, header.tail)
          end
        rescue *LockedFile::EXHAUSTED
          true # unknown
        rescue *LockedFile::UNUSABLE
          false
        end

        # @param keys [Array<String>]
        # @param kind [Integer]
        # @return [Boolean, nil] false if the file is full, nil if it cannot be written
        def note(keys, kind)
          locked(create: true) do |file, header|
            records, slots = records_of(file, header, keys, kind)
            next false if header.tail + records.bytesize - header.head > CAPACITY
            append(file, header, records, slots) unless records.empty?
            true
          end
        rescue *LockedFile::UNUSABLE, LockedFile::Busy
          nil
        end

        # @yieldparam page [Page]
        # @return [Float, nil] see {Journal#replay}
        def replay
          return unless pending?
          taken = take(SecureRandom.bytes(8))
          yield lost if taken.nil? && @damaged
          return taken unless taken.is_a?(Taken)
          begin
            yield taken.page
            done = true
          ensure
            finish(taken, done)
          end
          pending? ? 0.0 : nil
        rescue LockedFile::Busy, *LockedFile::EXHAUSTED
          BUSY_SECONDS
        rescue *LockedFile::UNUSABLE
          nil
        end

        private

        # --- notes ---

        # A key with a note that no owner has taken needs no second record. A late note starts its delay again.
        def records_of(file, header, keys, kind)
          records = String.new
          slots = {}
          now = Clock.monotonic
          keys.map(&:b).uniq.each do |key|
            at = slot_at(key)
            former = slot(file, key)
            next if @delay.zero? && noted?(file, former, key, header.taken, header.tail)
            position = header.tail + records.bytesize
            records << [key.bytesize, crc(kind, key), kind, now, slots[at] || former].pack(RECORD) << key
            slots[at] = position
          end
          [records, slots]
        end

        def append(file, header, records, slots)
          write_ring(file, header.tail, records)
          header.tail += records.bytesize
          write(file, header.to_s, 0)
          slots.each { |at, position| write(file, [position].pack("Q<"), at) }
        end

        # Records of the slot that come after the head form a chain of falling positions.
        def noted?(file, position, key, head, tail)
          key = key.b
          while position >= head && position < tail
            record = record_at(file, position, tail) or return false
            return true if record.key == key
            return false if record.former >= position
            position = record.former
          end
          false
        end

        def slot_at(key) = HEADER_BYTES + ((Zlib.crc32(key) % SLOTS) * SLOT_BYTES)
        def slot(file, key) = read(file, SLOT_BYTES, slot_at(key)).unpack1("Q<") || 0
        def crc(kind, key) = Zlib.crc32(key, Zlib.crc32([kind].pack("C")))

        # @return [Record, nil] nil for bytes that are no record
        def record_at(file, position, tail)
          size, crc, kind, at, former = read_ring(file, position, RECORD_BYTES).unpack(RECORD)
          finish = position + RECORD_BYTES + size.to_i
          return if former.nil? || finish > tail
          key = read_ring(file, position + RECORD_BYTES, size)
          Record.new(key, kind, at, former, finish, key.bytesize == size && !key.empty? && crc(kind, key) == crc)
        end

        # --- pages ---

        # @return [Taken, Float, nil] the seconds until a page is due
        def take(owner)
          locked do |file, header|
            next empty(file) if header.head >= header.tail
            next BUSY_SECONDS if header.owner != NO_OWNER && holds?(header)
            page, finish, wait = page(file, header)
            next wait if wait
            header.owner = owner
            header.ends_at = Clock.monotonic + TERM_SECONDS
            header.taken = [header.taken, finish].max
            write(file, header.to_s, 0)
            Taken.new(owner, header.generation, header.head, finish, page)
          end
        end

        def lost
          @damaged = false
          Page.new([], [], true)
        end

        # The monotonic clock restarts with the machine.
        def holds?(header) = (0..TERM_SECONDS).cover?(header.ends_at - Clock.monotonic) # altered bytes may be no number

        # The records after a damaged one cannot be found.
        def page(file, header)
          page = @damaged ? lost : Page.new([], [], false)
          position = header.head
          while position < header.tail && page.frames.size + page.generations.size < PAGE
            record = record_at(file, position, header.tail)
            return [page.tap { page.damaged = true }, header.tail] unless record&.intact
            wait = record.at + @delay - Clock.monotonic
            return position == header.head ? [nil, nil, wait] : [page, position] if wait.positive? && wait <= @delay
            (record.kind == GENERATION ? page.generations : page.frames) << record.key.force_encoding(Encoding::UTF_8)
            position = record.finish
          end
          [page, position]
        end

        # An owner that has lost its term has replayed its page all the same.
        def finish(taken, done)
          locked do |file, header|
            next unless header.generation == taken.generation
            header.head = taken.finish if done && header.head == taken.head
            header.owner = NO_OWNER if header.owner == taken.owner
            header.head >= header.tail ? empty(file) : write(file, header.to_s, 0)
          end
        rescue *LockedFile::UNUSABLE, LockedFile::Busy
          nil # the page is replayed again
        end

        def empty(file)
          file.truncate(0)
          nil
        end

        # --- the file ---

        # Runs the block with the file and its header, alone among all threads and processes.
        def locked(create: false)
          @file.locked(create:) { |file| yield file, header_at(file) || anew(file) }
        end

        # @return [Header, nil] nil if the file is empty, or altered
        def header_at(file)
          bytes = read(file, HEADER_BYTES, 0)
          header = Header.new(*bytes.unpack(HEADER)) if bytes.bytesize == HEADER_BYTES
          header if header && sound?(header)
        end

        def anew(file)
          @damaged = true if file.size.positive?
          file.truncate(0)
          Header.new(SecureRandom.bytes(8), NO_OWNER, 0.0, 1, 1, 1)
        end

        def sound?(header)
          header.head.positive? && header.head <= header.taken && header.taken <= header.tail &&
            header.tail - header.head <= CAPACITY
        end

        def read(file, count, at)
          file.pread(count, at)
        rescue EOFError
          ""
        end

        def read_ring(file, position, count)
          at = position % CAPACITY
          first = read(file, [count, CAPACITY - at].min, RECORDS_AT + at)
          at + count > CAPACITY ? first + read(file, count - (CAPACITY - at), RECORDS_AT) : first
        end

        def write(file, bytes, at)
          raise Errno::ENOSPC if file.pwrite(bytes, at) < bytes.bytesize
        end

        def write_ring(file, position, bytes)
          at = position % CAPACITY
          write(file, bytes.byteslice(0, CAPACITY - at), RECORDS_AT + at)
          write(file, bytes.byteslice(CAPACITY - at..), RECORDS_AT) if at + bytes.bytesize > CAPACITY
        end
      end
    end
  end
end
