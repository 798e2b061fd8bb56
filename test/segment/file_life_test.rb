# frozen_string_literal: true
# suites: kernel

require "test_helper"
require_relative "segment_files"

class SegmentFileLifeTest < Tiercel::TestCase
  include SegmentFiles

  def test_the_file_is_the_users_own_and_as_large_as_asked
    open
    status = File.stat(@path)
    assert_equal 0o600, status.mode & 0o777
    assert_equal 2 << 20, status.size
    assert_operator status.blocks * 512, :>=, 2 << 20 # allocated, not sparse
    assert_equal %w[segment segment.lock], Dir.children(dir).sort
  end

  # Each attempt could use up the free space of all programs for a moment, and each report is a line in the log.
  def test_a_lost_file_that_cannot_be_made_is_tried_and_reported_once_a_second
    store = Tiercel.new("shared:#{@path}", size: "2MB")
    store.write("key", "value")
    File.unlink(@path)
    Dir.mkdir(@path)
    wait_until("a miss") { store.read("key").nil? }
    began = Process.clock_gettime(Process::CLOCK_MONOTONIC, :second)
    reports = capture_reports { 1_000.times { assert_equal 1, store.fetch("other") { 1 } } }
    seconds = Process.clock_gettime(Process::CLOCK_MONOTONIC, :second) - began
    assert_operator reports.size, :<=, seconds + 2 # the kernel's coarse clock is a few ms late
    Dir.rmdir(@path)
    wait_until("a new file") { store.write("key", "new") }
    assert_equal "new", store.read("key")
  ensure
    store&.close
  end

  def test_processes_move_at_once_when_it_is_removed_or_replaced_by_command
    segment = open
    segment.set("key", "value")
    assert_equal false, Tiercel::Segment.remove(@path, only_unused: true)
    assert_equal "value", segment.get("key")
    Tiercel::Segment.replace(@path, bytes: 4 << 20)
    assert_nil segment.get("key")
    assert_equal 4 << 20, segment.size_bytes
    assert_equal true, Tiercel::Segment.remove(@path)
    assert_equal true, segment.set("key", "again")
    assert_equal 4 << 20, segment.size_bytes, "the size of the lost file"
  end

  # Processes of an application attach to an existing segment when they start.
  def test_a_process_that_joined_makes_a_lost_file_again_as_it_was
    open(shards: 2, mode: 0o640).close
    joined = Tiercel::Segment.join(@path).tap { |segment| @opened << segment }
    joined.set("key", "value")
    [-> { File.unlink(@path) }, -> { FileUtils.rm_f([@path, "#{@path}.lock"]) },
     -> { Tiercel::Segment.remove(@path) }].each do |lose|
      lose.call
      wait_until("a new file") { joined.get("key").nil? && File.exist?(@path) }
      assert_equal true, joined.set("key", "new")
      assert_equal [2 << 20, 2], joined.stats.values_at(:size_bytes, :shards)
      assert_equal 0o640, File.stat(@path).mode & 0o777
    end
  end

  # A task that only inspects a segment does not create one.
  def test_a_handle_that_only_looks_makes_no_file
    open.close
    looking = Tiercel::Segment.open_existing(@path).tap { |segment| @opened << segment }
    Tiercel::Segment.remove(@path)
    assert_raises(Tiercel::Unavailable) { looking.get("key") }
    refute_path_exists @path
  end

  def test_a_process_that_loses_sight_of_the_file_leaves_it_to_the_others
    skip "[environment] needs root" unless Process.euid.zero?
    segment = open
    segment.set("key", "value")
    id = segment.file_id
    jail = File.join(dir, "jail")
    Dir.mkdir(jail)
    Tiercel.eager_load! # what an error needs cannot be loaded in the jail
    fork_and_wait(1) do
      assert_equal "value", segment.get("key")
      Dir.chroot(jail)
      wait_until("its loss") { refused { segment.get("key") } }
    end
    assert_equal ["value", id], [segment.get("key"), segment.file_id]
    assert_equal id, open.file_id
  end

  # A process killed at a random moment leaves a complete segment, an unfinished file or none.
  def test_processes_that_are_killed_while_they_make_a_file
    20.times do |attempt|
      pid = fork { open_and_sleep }
      sleep(0.002 * attempt)
      Process.kill(:KILL, pid)
      Process.wait(pid)
      assert_equal "value", open.tap { |segment| segment.set("key", "value") }.get("key")
      @opened.pop.close
      assert_empty Dir.children(dir) - %w[segment segment.lock]
      FileUtils.rm_f(@path)
    end
  end

  # A process that is killed while it makes a file leaves it.
  def test_an_unfinished_file_is_removed
    others = %w[segment.new segment.tiercel-new2 segment2.tiercel-new]
    others.each { |name| File.write("#{dir}/#{name}", "x") }
    File.write("#{@path}.tiercel-new", "x")
    open
    assert_equal [*others, "segment", "segment.lock"].sort, Dir.children(dir).sort
    File.symlink("/etc/passwd", "#{@path}.tiercel-new")
    Tiercel::Segment.remove(@path)
    assert_equal others.sort, Dir.children(dir).sort
    assert_path_exists "/etc/passwd"
  end

  def test_a_lock_file_that_was_removed_makes_a_new_segment
    open.set("key", "value")
    pid = fork do
      File.unlink("#{@path}.lock")
      segment = Tiercel::Segment.open(@path, bytes: 2 << 20)
      exit!(segment.set("other", "value") ? 0 : 1)
    end
    Process.wait(pid)
    assert_predicate $?, :success?
    assert_equal "value", open.get("other")
  end

  def test_a_replacement_that_fails_leaves_the_segment_as_it_is
    segment = open
    segment.set("key", "value")
    error = assert_raises(Tiercel::Unavailable) { Tiercel::Segment.replace(@path, bytes: 1 << 41) }
    assert_match(/cannot be reserved/, error.message)
    assert_raises(Tiercel::Unavailable) { Tiercel::Segment.replace(@path, bytes: 1) }
    assert_equal "value", segment.get("key")
    assert_equal 2 << 20, segment.size_bytes
    assert_equal %w[segment segment.lock], Dir.children(dir).sort
  end

  # The directory is not writable for this process: all processes continue with the file.
  def test_a_removal_that_fails_leaves_the_segment_as_it_is
    skip "[environment] needs root" unless Process.euid.zero?
    open.set("key", "value")
    File.chown(65_534, nil, @path, "#{@path}.lock")
    File.chmod(0o755, dir)
    Tiercel.eager_load! # another user cannot load our code
    fork_and_wait(1) do
      Process::Sys.setuid(65_534)
      segment = open
      segment.set("key", "value")
      error = assert_raises(Tiercel::Unavailable) { Tiercel::Segment.remove(@path) }
      assert_match(/cannot be removed: Permission denied/, error.message)
      assert_raises(Tiercel::Unavailable) { Tiercel::Segment.replace(@path, bytes: 4 << 20) }
      assert_equal "value", segment.get("key")
      assert_equal true, segment.set("key", "other")
    end
  end

  def test_a_replacement_keeps_its_mode
    open(mode: 0o640).close
    Tiercel::Segment.replace(@path, bytes: 32 << 20)
    assert_equal [32 << 20, 0o640], [open.size_bytes, File.stat(@path).mode & 0o777]
    Tiercel::Segment.replace(@path, bytes: 16 << 20, mode: 0o600)
    assert_equal 0o600, File.stat(@path).mode & 0o777
  end

  def test_it_uses_one_descriptor_and_gives_it_back
    ours = -> { Dir["/proc/self/fd/*"].count { |link| File.symlink?(link) && File.readlink(link).start_with?(dir) } }
    segments = Array.new(3) { open }
    assert_equal 1, ours.call
    segments.each(&:close)
    assert_equal 0, ours.call
  end

  private

  def open_and_sleep
    Tiercel::Segment.open(@path, bytes: 128 << 20)
    sleep
  end

  def refused
    yield
    false
  rescue Tiercel::Unavailable
    true
  end
end
