# frozen_string_literal: true
# suites: kernel

require "test_helper"
require_relative "segment_files"

# Files that a segment refuses, and places without enough space.
class SegmentFileRefusalsTest < Tiercel::TestCase
  include SegmentFiles

  def test_a_file_with_other_names_is_left_alone
    other = File.join(dir, "other")
    { "x" * 10_000 => "tiercel-app-0.v3", "" => "tiercel-app-1.v3" }.each do |content, name|
      File.write(other, content)
      File.link(other, path = File.join(dir, name))
      error = assert_raises(Tiercel::ConfigurationError) { open(path) }
      assert_match(/#{path} has other names too \(hard links\)/, error.message)
      assert_match(/hard links/, assert_raises(Tiercel::Unavailable) { Tiercel::Segment.remove(path) }.message)
      assert_equal content, File.read(other)
      FileUtils.rm_f([other, path])
    end
  end

  def test_what_is_no_segment_is_left_alone
    File.write(@path, "something else" * 1_000)
    error = assert_raises(Tiercel::ConfigurationError) { open }
    assert_match(/#{@path} is not a segment/, error.message)
    assert_equal "something else" * 1_000, File.read(@path)
    assert_raises(Tiercel::Unavailable) { Tiercel::Segment.replace(@path, bytes: 2 << 20) }
    assert_raises(Tiercel::Unavailable) { Tiercel::Segment.remove(@path) }
    assert_equal "something else" * 1_000, File.read(@path)
    assert_equal %w[segment], Dir.children(dir) # no lock file for a file that is not ours
  end

  def test_links_directories_and_missing_places_are_refused
    File.symlink(File.join(dir, "target"), @path)
    assert_match(/symbolic link/, assert_raises(Tiercel::ConfigurationError) { open }.message)
    assert_match(/directory|regular file/, assert_raises(Tiercel::ConfigurationError) { open(dir) }.message)
    missing = File.join(dir, "missing", "segment")
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
    Tiercel.eager_load! # another user cannot load our code
    Process.wait(fork do
      Process::Sys.setuid(65_533)
      Tiercel::Segment.open(@path, bytes: 2 << 20)
    rescue Tiercel::ConfigurationError
      exit!(0)
    end)
    assert_predicate $?, :success?
  end

  # Above the limit, the kernel kills the process with a signal.
  def test_a_size_past_the_limit_of_the_process_is_an_error_and_leaves_nothing
    answers = fork_and_wait(1) do
      Process.setrlimit(:FSIZE, 1 << 20)
      open
    rescue Tiercel::ConfigurationError => error
      error.message
    end
    assert_match(/cannot be reserved \(RLIMIT_FSIZE is less\): give a smaller size/, answers.first)
    assert_empty Dir.children(dir).grep(/\.new/)
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

  private

  # A 1.5 MB memory file system that can safely be filled.
  def with_small_tmpfs
    skip "[environment] needs root to mount" unless Process.euid.zero?
    mount = File.join(dir, "mount")
    Dir.mkdir(mount)
    mounted = system("mount", "-t", "tmpfs", "-o", "size=1536k", "tmpfs", mount, err: File::NULL)
    skip "[environment] mounting is not allowed here" unless mounted
    yield mount
  ensure
    system("umount", "-l", mount) if mounted
  end
end
