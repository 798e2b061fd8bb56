# frozen_string_literal: true

require_relative "clock"
require_relative "frame/version"

module Tiercel
  # Decoded, deep-frozen values of one process, each good as long as the entry
  # in the segment is the one that it was decoded from.
  #
  # It is the segment that says so ({Segment#unchanged?}), for every process of
  # the machine; the memo only saves decoding. Bounded in entries and in bytes
  # of their keys and of the frames they came from; the ones that were kept
  # first go first.
  class Memo
    DEFAULT_ENTRIES = 1_000
    DEFAULT_BYTES = 32 * 1024 * 1024

    # One value and what has to hold for it.
    Slot = Struct.new(:token, :value, :expires_at, :version, :bytes) do
      # @param wanted [String, nil] the version that the caller asks for
      # @return [Boolean] false if it has ended, or is of another version
      def usable?(wanted)
        return false if expires_at && expires_at <= Clock.now
        wanted.nil? || version.nil? || Frame::Version.same?(version, wanted)
      end
    end

    @memos = ObjectSpace::WeakMap.new

    # Forgets what every memo of this process holds. The Railtie does so when
    # code is reloaded.
    #
    # @return [void]
    def self.clear_all = @memos.each_key(&:clear)

    # @private
    def self.watch(memo) = @memos[memo] = true

    # @return [Integer] bytes of the frames whose values are kept, and of their keys
    attr_reader :bytes

    # @param entries [Integer] values that are kept at most
    # @param bytes [Integer] bytes of frames and keys at most
    def initialize(entries: DEFAULT_ENTRIES, bytes: DEFAULT_BYTES)
      @max_entries = entries
      @max_bytes = bytes
      @slots = {}
      @bytes = 0
      @lock = Mutex.new
      Memo.watch(self)
    end

    # @param key [String]
    # @return [Slot, nil]
    def [](key) = @slots[key]

    # @param key [String]
    # @param slot [Slot] whose value is frozen, all of it
    # @return [void]
    def keep(key, slot)
      bytes = slot.bytes + key.bytesize
      return if bytes > @max_bytes / 4
      @lock.synchronize do
        drop(key)
        @slots[-key] = slot
        @bytes += bytes
        drop(@slots.first.first) while @slots.size > @max_entries || @bytes > @max_bytes
      end
    end

    # @return [Integer] how many values are kept
    def size = @slots.size

    # @return [void]
    def clear
      @lock.synchronize do
        @slots = {}
        @bytes = 0
      end
    end

    private

    def drop(key)
      slot = @slots.delete(key)
      @bytes -= slot.bytes + key.bytesize if slot
    end
  end
end
