# frozen_string_literal: true

require "zlib"

module Tiercel
  class Account
    # The 1,000 classes of keys whose misses cost most. Each has its last hour in parts of five minutes and its last
    # day in hours. If the table is full, a new class replaces the cheapest one and inherits its cost: Space-Saving
    # (Metwally, Agrawal, El Abbadi: Efficient Computation of Frequent and Top-k Elements in Data Streams, ICDT 2005).
    # So the table always contains every class that costs more than a thousandth of the total.
    #
    # The caller of {#add} holds the account's lock. Readers need no lock, because one `pread` reads a whole record.
    #
    # @private
    class ClassTable
      SLOTS = 1_000
      NAME_BYTES = 152
      DAY_SECONDS = 86_400
      # The seconds of a part, and the number of parts.
      HOUR = [300, 12].freeze
      DAY = [3_600, 24].freeze
      PARTS = HOUR[1] + DAY[1]
      # hash, touched_at, born_at; inherited seconds, longest seconds, total seconds; total misses; name; then the
      # misses, seconds and hits of each part
      RECORD = "Q<3E3Q<Z#{NAME_BYTES}#{"L<eL<" * PARTS}".freeze
      RECORD_BYTES = 640
      # hash, cost, touched_at
      INDEX = ("Q<EQ<" * SLOTS).freeze
      INDEX_ENTRY = "Q<EQ<"
      INDEX_ENTRY_BYTES = 24
      INDEX_BYTES = SLOTS * INDEX_ENTRY_BYTES
      BYTES = INDEX_BYTES + (SLOTS * RECORD_BYTES)
      FIXED_FIELDS = 8
      # An entry of the index for a slot without a class.
      EMPTY = [0, 0.0, 0].freeze
      # Other numbers come from bytes that another program has altered. Such an entry or record counts as empty.
      PLAUSIBLE_SECONDS = (0.0..1e12)
      PLAUSIBLE_COUNT = (0..(2**62))
      private_constant :RECORD, :INDEX, :INDEX_ENTRY, :FIXED_FIELDS, :EMPTY, :PLAUSIBLE_SECONDS, :PLAUSIBLE_COUNT

      # The cost of a class. `hits` is an estimate from samples.
      Cost = Struct.new(:misses, :seconds, :hits, :longest_seconds) do
        def self.none = new(0, 0.0, 0, 0.0)
      end

      # One class.
      Record = Struct.new(:hash, :touched_at, :born_at, :inherited, :longest_seconds, :total_seconds,
                          :total_misses, :name, :parts) do
        # Resets the parts that have left the hour or the day since the last change.
        def turn(now)
          turn_ring(now, 0, *HOUR)
          turn_ring(now, HOUR[1], *DAY)
          self.touched_at = now if now > touched_at
          self.inherited = 0.0 if now - born_at > DAY_SECONDS
          self
        end

        def add(now, cost)
          [now / HOUR[0] % HOUR[1], HOUR[1] + (now / DAY[0] % DAY[1])].each do |index|
            part = parts[index]
            part[0] = [part[0] + cost.misses, 0xFFFF_FFFF].min
            part[1] += cost.seconds
            part[2] = [part[2] + cost.hits, 0xFFFF_FFFF].min
          end
          self.longest_seconds = [longest_seconds, cost.longest_seconds].max
          self.total_seconds += cost.seconds
          self.total_misses += cost.misses
        end

        def of(period) = period == :hour ? parts.first(HOUR[1]) : parts.last(DAY[1])
        def cost = inherited + of(:day).sum { |_, seconds| seconds }

        private

        def turn_ring(now, offset, seconds, count)
          before = touched_at / seconds
          ((before + 1)..[now / seconds, before + count].min).each { |at| parts[offset + (at % count)] = [0, 0.0, 0] }
        end
      end
      private_constant :Record

      # @param medium [Book]
      # @param offset [Integer] the table's place in the medium
      def initialize(medium, offset)
        @medium = medium
        @offset = offset
      end

      # Removes each cost from the Hash before it adds it, so that a caller who is interrupted adds none of them twice.
      #
      # @param costs [Hash{String => Cost}] by the name of the class; empty afterwards
      # @param now [Integer] epoch seconds
      # @return [void]
      def add(costs, now)
        index = read_index(now)
        slots = index.each_with_index.to_h { |(hash, _, _), slot| [hash, slot] }
        until costs.empty?
          name, cost = costs.shift
          name = name.byteslice(0, NAME_BYTES - 1)
          hash = hash_of(name)
          slot = slots[hash]
          record = (slot && known(slot, hash, now)) || begin
            slot ||= cheapest(index, now)
            slots.delete(index[slot][0])
            slots[hash] = slot
            newcomer(name, hash, now, index[slot])
          end
          record.add(now, cost)
          index[slot] = [hash, record.cost, record.touched_at]
          write(slot, record)
        end
      end

      # @param period [Symbol] :hour or :day
      # @param now [Integer] epoch seconds
      # @return [Array<Hash>] unordered
      def all(period, now)
        read_index(now).each_with_index.filter_map do |(hash, _, touched_at), slot|
          next if hash.zero? || now - touched_at > DAY_SECONDS
          record = known(slot, hash, now) or next
          described(record, period)
        end
      end

      private

      def described(record, period)
        misses, seconds, hits = record.of(period).transpose.map(&:sum)
        return if misses.zero? && seconds.zero? && hits.zero?
        { name: record.name.scrub, misses:, seconds: seconds.round(6), hits:,
          longest_seconds: record.longest_seconds.round(6), total_misses: record.total_misses,
          total_seconds: record.total_seconds.round(6), inherited_seconds: record.inherited.round(6) }
      end

      def read_index(now)
        @medium.pread(INDEX_BYTES, @offset).unpack(INDEX).each_slice(3).map do |entry|
          _, cost, touched_at = entry
          PLAUSIBLE_SECONDS.cover?(cost) && touched_at <= now + DAY_SECONDS ? entry : EMPTY
        end
      end

      def known(slot, hash, now)
        fields = @medium.pread(RECORD_BYTES, record_at(slot)).unpack(RECORD)
        return unless fields[0] == hash && plausible?(fields, now)
        fields[FIXED_FIELDS - 1].force_encoding(Encoding::UTF_8)
        Record.new(*fields.first(FIXED_FIELDS), fields.drop(FIXED_FIELDS).each_slice(3).to_a).turn(now)
      end

      def plausible?(fields, now)
        _, touched_at, born_at, *, total_misses, _ = fields.first(FIXED_FIELDS)
        [touched_at, born_at].max <= now + DAY_SECONDS && PLAUSIBLE_COUNT.cover?(total_misses) &&
          fields.grep(Float).all?(PLAUSIBLE_SECONDS)
      end

      def newcomer(name, hash, now, (_, cost, touched_at))
        inherited = touched_at.zero? || now - touched_at > DAY_SECONDS ? 0.0 : cost
        Record.new(hash, now, now, inherited, 0.0, 0.0, 0, name, Array.new(PARTS) { [0, 0.0, 0] })
      end

      def cheapest(index, now)
        index.each_index.min_by do |slot|
          hash, cost, touched_at = index[slot]
          next -1.0 if hash.zero?
          now - touched_at > DAY_SECONDS ? -0.5 : cost
        end
      end

      # Writes the record before the index entry. Readers skip an index entry whose record has another hash.
      def write(slot, record)
        fields = record.to_a
        @medium.pwrite([*fields.first(FIXED_FIELDS), *fields.last.flatten].pack(RECORD), record_at(slot))
        @medium.pwrite([record.hash, record.cost, record.touched_at].pack(INDEX_ENTRY),
                       @offset + (slot * INDEX_ENTRY_BYTES))
      end

      def record_at(slot) = @offset + INDEX_BYTES + (slot * RECORD_BYTES)

      # The result is never 0, because 0 is an empty slot.
      def hash_of(name) = (Zlib.crc32(name) << 32) | Zlib.crc32(name.reverse, 1) | 1
    end
  end
end
