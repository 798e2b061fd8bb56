# frozen_string_literal: true

require "zlib"

require_relative "../backend"
require_relative "../errors"
require_relative "../memory_file"

module Tiercel
  class Tiers < Backend
    # The keys that the last tier has to delete, since it did not receive a change of them. The journal holds keys and
    # no values: another machine may have written a newer value since.
    #
    # A key is pending from its note until its page is replayed. A note with `late` keeps the key for {LATE_SECONDS}
    # more: the write that timed out may arrive within that time.
    #
    # The notes lie in two files beside the segment ({Ring}), for all processes of the machine. Without a `shared:`
    # tier, or if the file cannot be written, each process keeps its notes in memory ({MemoryFile}).
    #
    # @private
    class Journal
      # The largest size of each file of notes, and of the notes of each process.
      MOST_BYTES = 16 << 20
      # The number of keys in a page.
      PAGE = 500
      # A request that timed out arrives within this time, or never.
      LATE_SECONDS = 8.0
      # A process waits this long before it looks again at a page that another process replays.
      BUSY_SECONDS = 0.5
      # The kinds of notes: the last tier deletes a frame after a check, and a generation always.
      FRAME, GENERATION = 1, 2

      # Keys to delete. `damaged`: the file was altered, and an unknown number of keys is lost.
      Page = Struct.new(:frames, :generations, :damaged)

      # @param path [String, nil] path of the segment; the files have the same directory
      # @param last [String] the URL of the last tier: stacks over one segment may have different ones
      # @param segment [Segment, nil] the segment of the near tier; each note changes a counter in it
      def initialize(path, last, segment = nil)
        delays = { "keys" => 0.0, "late" => LATE_SECONDS }
        @memory = delays.values.map { |delay| Ring.new(MemoryFile.new, delay) }
        @own = [] # @memory, once it has notes
        name = "#{path}.journal-#{Zlib.crc32(last).to_s(36)}"
        @files = path ? delays.map { |kind, delay| Ring.new(LockedFile.new("#{name}.#{kind}", path), delay) } : []
        @segment = segment
      end

      # @param keys [Array<String>]
      # @param kind [Integer] {FRAME} or {GENERATION}
      # @param late [Boolean] whether the change may still arrive
      # @return [Boolean] false if the journal is full: then the keys are lost
      def note(keys, kind = FRAME, late: false)
        (late ? [0, 1] : [0]).all? { |index| keep(index, keys, kind) }
      end

      # Looks at the files only if the segment's word has changed since they were empty. The word changes with every
      # note, and once a second.
      #
      # @return [Boolean] whether any key is pending
      def pending?
        return true if @own.any?(&:pending?)
        return false if @files.empty?
        noted = @segment&.near_noted
        return false if noted && noted == @nothing_at
        @files.any?(&:pending?).tap { |pending| @nothing_at = pending ? nil : noted }
      rescue BackendError
        @files.any?(&:pending?) # no segment at present
      end

      # @param key [String]
      # @return [Boolean] whether the key is pending
      def include?(key) = (@own + @files).any? { |notes| notes.include?(key) }

      # Yields one page of each place. A page stays if the block raises.
      #
      # @yieldparam page [Page]
      # @return [Float, nil] seconds until the next step; nil if no key is pending
      def replay(&) = (@own + @files).filter_map { |notes| notes.replay(&) }.min

      private

      def keep(index, keys, kind)
        kept = @files[index]&.note(keys, kind)
        announce if kept
        kept.nil? ? (@own = @memory)[index].note(keys, kind) : kept
      end

      def announce
        @nothing_at = nil
        @segment&.near_note
      rescue BackendError
        nil # no segment at present: other processes find the note a second later
      end
    end
  end
end

require_relative "journal/locked_file"
require_relative "journal/ring"
