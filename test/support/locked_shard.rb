# frozen_string_literal: true

# A live process that holds the lock of a segment's shard: it is registered, and the file contains its lock word.
# ext/tiercel/segment/segment-layout.md has the offsets.
module LockedShard
  PROCESSES_AT = 120
  SHARDS_AT = 144
  PROCESS_BYTES = 192
  private_constant :PROCESSES_AT, :SHARDS_AT, :PROCESS_BYTES

  # @param path [String] the segment's path
  # @param open [#call] opens a segment at that path, which registers the other process
  # @param shard [Integer]
  # @param moves [Boolean] whether the owner changes every 2 ms, like that of a busy shard's lock
  # @yieldparam release [#call] makes the other process release the lock
  # @yieldparam pid [Integer] the other process
  # @return [Object] the block's value
  def self.while(path, open, shard: 0, moves: false)
    ready, done = IO.pipe, IO.pipe
    pid = fork do
      segment = open.call
      hold(path, segment, shard, moves) { |frees| frees ? ready.last.write("x") : done.first.wait_readable(0.002) }
      sleep # alive and registered
    end
    ready.first.read(1)
    yield -> { done.last.write("x") && ready.first.read(1) }, pid
  ensure
    Process.kill(:KILL, pid)
    Process.wait(pid)
    [*ready, *done].each(&:close)
  end

  class << self
    private

    def hold(path, segment, shard, moves)
      File.open(path, "r+b") do |file|
        word = own_word(file)
        at = file.pread(8, SHARDS_AT).unpack1("Q<") + shard * shard_bytes(file)
        file.pwrite([word].pack("Q<"), at)
        yield true
        until yield(false)
          file.pwrite([word += 1 << 40].pack("Q<"), at) if moves
        end
        file.pwrite([(word >> 40) + 1 << 40].pack("Q<"), at)
        yield true
      end
      segment
    end

    def shard_bytes(file) = file.pread(8, SHARDS_AT + 8).unpack1("Q<")

    # The lock word: process slot + 1, and the generation of that slot.
    def own_word(file)
      start = file.pread(8, PROCESSES_AT).unpack1("Q<")
      512.times do |slot|
        generation, pid = file.pread(8, start + slot * PROCESS_BYTES).unpack("L<2")
        return slot + 1 | (generation & 0xffffff) << 16 if pid == Process.pid
      end
      raise "this process is not registered"
    end
  end
end
