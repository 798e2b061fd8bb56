# frozen_string_literal: true

# suites: kernel

require "test_helper"
require "fcntl"
require "active_support/cache/tiercel_store"
require "tiercel/segment"
require "support/held_by_another"
require "support/locked_shard"
require_relative "record_locks"
require_relative "segment_files"

# A process proves with a lock on the lock file that it is alive: from its registration to its end.
class SegmentRegistrationTest < Tiercel::TestCase
  include SegmentFiles

  def setup
    super
    @open = -> { Tiercel::Segment.open(@path, bytes: 4 << 20, shards: 1) }
    @segment = @open.call
    @children = []
  end

  def teardown
    @children.each { |pid| Process.kill(:KILL, pid) }
    @segment.close
    super
  end

  # The child has inherited everything and never calls the cache. The file's lock word belongs to a writer that died
  # inside.
  def test_a_dead_parents_lock_is_taken_over_while_its_child_lives
    %i[fork_child daemon spawn_child grandchild].each do |kind|
      child, tell = IO.pipe
      open = -> { @open.call.tap { send(kind, tell) } }
      LockedShard.while(@path, open) do |_release, parent|
        @children << child.gets.to_i
        Process.kill(:KILL, parent)
        wait_until("the parent's end") { !registered.include?(parent) }
        assert_operator seconds { assert_equal true, @segment.set("key", kind.to_s) }, :<, 30, kind
        assert_path_exists "/proc/#{@children.last}"
      end
    end
  end

  # Earlier versions use record locks. Both kinds of lock exclude each other.
  def test_record_locks_of_a_former_version
    skip "[environment] struct flock is another one here" unless RecordLocks.available?
    slot = 1
    assert_raises(Errno::EAGAIN) { try_lock(Fcntl::F_SETLK, slot) }
    assert_equal [true], (fork_and_wait(1) do
      RecordLocks.held("#{@path}.lock", 2, 1) { @segment.set("key", "x") && @segment.pids.size == 2 }
    end)
  end

  private

  # The registered processes, as a new process reads them.
  def registered = fork_and_wait(1) { Tiercel::Segment.open_existing(@path).pids - [Process.pid] }.first

  def fork_child(tell) = tell.puts(fork { sleep })

  def grandchild(tell) = fork { tell.puts(fork { sleep }) || exit!(0) }.then { |pid| Process.wait(pid) }

  def spawn_child(tell) = tell.puts(spawn("sleep", "600"))

  def daemon(tell)
    pid = fork do
      Process.daemon(true, true)
      tell.puts(Process.pid)
      sleep
    end
    Process.wait(pid)
  end

  def try_lock(command, byte)
    file = File.open("#{@path}.lock", File::RDWR | File::CREAT, 0o600)
    file.fcntl(command, [Fcntl::F_WRLCK, IO::SEEK_SET, byte, 1, 0].pack("ssx4qqlx4"))
    (@files ||= []) << file
  end
end
