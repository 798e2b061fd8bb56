# frozen_string_literal: true
# suites: kernel

require "test_helper"
require "tiercel/backends/shared"

class SegmentFileLifeTest < Tiercel::TestCase
  def setup
    super
    @directory = Dir.mktmpdir("tiercel-segment-")
    @path = File.join(@directory, "segment")
  end

  def teardown
    @opened&.each(&:close)
    FileUtils.remove_entry(@directory)
    super
  end

  def open(path = @path, **options)
    Tiercel::Segment.open(path, bytes: 2 << 20, **options).tap { |segment| (@opened ||= []) << segment }
  end

  def test_handles_of_a_process_share_one_attachment
    one = open
    other = open
    one.set("key", "value")
    assert_equal "value", other.get("key")
    assert_equal one.file_id, other.file_id
    assert_equal [Process.pid], one.pids
    one.close
    assert_equal "value", other.get("key")
    assert_equal "value", one.get("key") # opens again
  end

  def test_the_file_is_the_users_own_and_as_large_as_asked
    open
    status = File.stat(@path)
    assert_equal 0o600, status.mode & 0o777
    assert_equal 2 << 20, status.size
    assert_operator status.blocks * 512, :>=, 2 << 20 # reserved, not sparse
    assert_equal %w[segment segment.lock], Dir.children(@directory).sort
  end

  def test_it_survives_a_restart_of_all_processes
    pid = fork { open.set("key", "value") && exit!(0) }
    Process.wait(pid)
    assert_equal "value", open.get("key")
  end

  def test_what_exists_keeps_its_size
    open
    again = open(@path)
    assert_equal 2 << 20, again.size_bytes
    shared = Tiercel::Backends::Shared.build(Tiercel::BackendURL.parse("shared:#{@path}"), { size: "8MB" })
    assert_equal 2 << 20, shared.segment.size_bytes
    shared.close
  end

  def test_a_process_moves_over_when_its_file_is_removed
    segment = open
    segment.set("key", "value")
    File.unlink(@path)
    wait_until("a new file") { segment.get("key").nil? }
    assert_path_exists @path
    assert_equal true, segment.set("key", "new")
    assert_equal "new", open.get("key")
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
    assert_equal 2 << 20, segment.size_bytes
  end

  def test_another_process_moves_too
    segment = open
    ready, go = IO.pipe, IO.pipe
    pid = fork do
      segment.set("child", "old")
      ready[1].write("x")
      go[0].read(1)
      exit!(segment.get("child").nil? && segment.set("child", "new") ? 0 : 1)
    end
    ready[0].read(1)
    Tiercel::Segment.replace(@path, bytes: 2 << 20)
    go[1].write("x")
    Process.wait(pid)
    assert_predicate $?, :success?
    assert_equal "new", segment.get("child")
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

  def test_a_truncated_segment_is_replaced_when_attached
    Process.wait(fork { open.set("key", "value") && exit!(0) })
    File.truncate(@path, 1 << 20)
    assert_nil open.get("key")
    assert_equal 2 << 20, File.size(@path)
  end

  def test_what_is_no_segment_is_left_alone
    File.write(@path, "something else" * 1_000)
    error = assert_raises(Tiercel::ConfigurationError) { open }
    assert_match(/#{@path} is not a segment/, error.message)
    assert_equal "something else" * 1_000, File.read(@path)
    assert_raises(Tiercel::Unavailable) { Tiercel::Segment.replace(@path, bytes: 2 << 20) }
    assert_raises(Tiercel::Unavailable) { Tiercel::Segment.remove(@path) }
    assert_equal "something else" * 1_000, File.read(@path)
    assert_equal %w[segment], Dir.children(@directory) # no lock file beside what is not ours
  end

  def test_a_replacement_that_fails_leaves_the_segment_as_it_is
    segment = open
    segment.set("key", "value")
    error = assert_raises(Tiercel::Unavailable) { Tiercel::Segment.replace(@path, bytes: 1 << 41) }
    assert_match(/cannot be reserved/, error.message)
    assert_raises(Tiercel::Unavailable) { Tiercel::Segment.replace(@path, bytes: 2 << 20, shards: 3) }
    assert_equal "value", segment.get("key")
    assert_equal 2 << 20, segment.size_bytes
    assert_equal %w[segment segment.lock], Dir.children(@directory).sort
  end

  def test_a_replacement_keeps_what_nobody_asked_to_change
    open(shards: 2, average_entry_bytes: 100, mode: 0o640).close
    Tiercel::Segment.replace(@path, bytes: 32 << 20)
    segment = open
    assert_equal [32 << 20, 2, 100], [segment.size_bytes, segment.shards, segment.average_entry_bytes]
    assert_equal 0o640, File.stat(@path).mode & 0o777
    Tiercel::Segment.replace(@path, bytes: 16 << 20, shards: 16, average_entry_bytes: 200, mode: 0o600)
    assert_equal [16, 200], [segment.shards, segment.average_entry_bytes]
    assert_equal 0o600, File.stat(@path).mode & 0o777
    Tiercel::Segment.replace(@path, bytes: 1 << 20) # too small for sixteen shards
    assert_equal [8, 200], [segment.shards, segment.average_entry_bytes]
  end

  # As many shards as a size has unasked are no choice, and go with the size.
  def test_a_replacement_of_another_size_has_shards_of_its_own
    open.close
    Tiercel::Segment.replace(@path, bytes: 32 << 20)
    assert_equal 4, open.shards
    Tiercel::Segment.replace(@path, bytes: 1 << 20)
    assert_equal 1, open.shards
  end

  def test_a_relative_path_stays_what_it_was_where_the_directory_changes
    Dir.chdir(@directory) { open("relative").set("key", "value") }
    assert_equal File.join(@directory, "relative"), @opened.last.path
    assert_equal "value", open(File.join(@directory, "relative")).get("key")
  end

  def test_links_directories_and_missing_places_are_refused
    File.symlink(File.join(@directory, "target"), @path)
    assert_match(/symbolic link/, assert_raises(Tiercel::ConfigurationError) { open }.message)
    assert_match(/directory|regular file/, assert_raises(Tiercel::ConfigurationError) { open(@directory) }.message)
    missing = File.join(@directory, "missing", "segment")
    assert_match(/#{missing}.*cannot be opened: No such file/,
                 assert_raises(Tiercel::ConfigurationError) { open(missing) }.message)
    File.symlink("/etc/passwd", "#{@path}2.lock")
    assert_match(/symbolic link/, assert_raises(Tiercel::ConfigurationError) { open("#{@path}2") }.message)
  end

  def test_another_users_segment_is_refused
    skip "[environment] needs root" unless Process.euid.zero?
    open.close
    File.chown(65_534, nil, @path)
    assert_match(/belongs to user 65534/, assert_raises(Tiercel::ConfigurationError) { open }.message)
    File.chown(65_534, nil, "#{@path}.lock")
    Process.wait(fork do
      Process::Sys.setuid(65_533)
      Tiercel::Segment.open(@path, bytes: 2 << 20)
    rescue Tiercel::ConfigurationError
      exit!(0)
    end)
    assert_predicate $?, :success?
  end

  def test_a_size_that_does_not_fit_is_an_error_and_leaves_nothing
    error = assert_raises(Tiercel::ConfigurationError) do
      Tiercel::Segment.open("/dev/shm/tiercel-test-large", bytes: 1 << 41)
    end
    assert_match(/cannot be reserved: give a smaller size/, error.message)
    assert_empty Dir["/dev/shm/tiercel-test-large*"] - ["/dev/shm/tiercel-test-large.lock"]
  ensure
    FileUtils.rm_f("/dev/shm/tiercel-test-large.lock")
  end

  # Past it the kernel sends a signal that ends the process.
  def test_a_size_past_the_limit_of_the_process_is_an_error_and_leaves_nothing
    answers = fork_and_wait(1) do
      Process.setrlimit(:FSIZE, 1 << 20)
      open
    rescue Tiercel::ConfigurationError => error
      error.message
    end
    assert_match(/cannot be reserved \(RLIMIT_FSIZE is less\): give a smaller size/, answers.first)
    assert_empty Dir.children(@directory).grep(/\.new/)
  end

  def test_the_default_shrinks_to_what_is_free
    with_small_tmpfs do |directory|
      segment = open(File.join(directory, "segment"), least_bytes: 1 << 20)
      assert_equal 1 << 20, segment.size_bytes
      assert_equal true, segment.set("key", "value")
      segment.close
    end
  end

  def test_a_place_that_is_full_or_read_only_is_an_error_at_once
    with_small_tmpfs do |directory|
      assert_match(/cannot be reserved/,
                   assert_raises(Tiercel::ConfigurationError) { open(File.join(directory, "segment")) }.message)
      File.write(File.join(directory, "filler"), "x" * 1_400_000)
      error = assert_raises(Tiercel::ConfigurationError) { open(File.join(directory, "segment"), least_bytes: 1 << 20) }
      assert_match(/cannot be reserved/, error.message)
      system("mount", "-o", "remount,ro", directory, exception: true)
      assert_match(/cannot be/,
                   assert_raises(Tiercel::ConfigurationError) { open(File.join(directory, "other")) }.message)
    end
  end

  def test_it_uses_one_descriptor_and_gives_it_back
    before = Dir.children("/proc/self/fd").size
    segments = Array.new(3) { open }
    assert_equal before + 1, Dir.children("/proc/self/fd").size
    segments.each(&:close)
    assert_equal before, Dir.children("/proc/self/fd").size
  end

  private

  # 1.5 MB of memory that can be filled without harm.
  def with_small_tmpfs
    skip "[environment] needs root to mount" unless Process.euid.zero?
    mount = File.join(@directory, "mount")
    Dir.mkdir(mount)
    mounted = system("mount", "-t", "tmpfs", "-o", "size=1536k", "tmpfs", mount, err: File::NULL)
    skip "[environment] mounting is not allowed here" unless mounted
    yield mount
  ensure
    system("umount", "-l", mount) if mounted
  end
end
