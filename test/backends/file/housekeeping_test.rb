# frozen_string_literal: true
# suites: kernel

require "test_helper"
require "minitest/mock"

# Limits of `file:` that a usual round of housekeeping cannot keep, and files that housekeeping must not touch.
class FileHousekeepingTest < Tiercel::TestCase
  MEGABYTE = 1024**2

  def setup
    dir(File.writable?("/dev/shm") ? "/dev/shm" : nil)
  end

  def test_size_is_held_when_large_values_follow_small_ones
    backend = build(size: 32 * MEGABYTE)
    7_500.times { |index| backend.set("small#{index}", "x") }
    used = Array.new(25) do |index|
      assert_equal true, backend.set("large#{index}", "x" * 1_600_000)
      disk_bytes
    end
    assert_operator used.max, :<=, 32 * MEGABYTE * 1.05
    assert_operator used.last, :>=, 32 * MEGABYTE * 0.7
    assert backend.get("large24")
  end

  def test_the_oldest_entries_are_evicted
    backend = build(size: 4 * MEGABYTE)
    900.times { |index| backend.set("old#{index}", "x") }
    File.utime(0, 0, *entry_files)
    200.times { |index| backend.set("new#{index}", "x") }
    assert_operator backend.stats[:evictions], :>, 50
    assert_equal 200, (0...200).count { |index| backend.get("new#{index}") }
  end

  # A network file system keeps a removed file under such a name while a process has it open.
  def test_files_of_others_in_the_folders_are_left_alone
    backend = build
    backend.set("key", "value")
    foreign = File.join(File.dirname(entry_files.first), ".nfs00000000012345670000002a")
    FileUtils.cp(entry_files.first, foreign)
    40.times { |index| backend.set("key#{index}", "value") }
    backend.clear
    assert_path_exists foreign
    assert_equal 0, backend.stats[:entries]
  end

  # A round waited for many locks in turn, each for the whole time budget.
  def test_housekeeping_does_not_wait_for_the_lock
    backend = build
    backend.set("key", "value")
    lock = File.open("#{dir}/tiercel-v1/lock", "r+")
    lock.flock(File::LOCK_EX)
    began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    fork_and_wait(1) do
      build(timeout: 120).send(:keep_house, 1 << 40, Time.now.to_f) # a write that has just released the lock
      nil
    end
    assert_operator Process.clock_gettime(Process::CLOCK_MONOTONIC) - began, :<, 60 # a call may wait for 120 s here
  ensure
    lock&.close
  end

  # Another program removes the folder before one step of a write: of the lock's folders and file, the entry's folder
  # and file, and the rename.
  def test_a_folder_that_is_removed_during_a_write
    backend = build
    (1..).each do |removal|
      FileUtils.rm_rf(dir)
      steps = 0
      before_each_step(-> { FileUtils.rm_rf(dir) if (steps += 1) == removal }) do
        assert_equal true, backend.set("key", removal.to_s), "removed before step #{removal}"
      end
      assert_equal removal.to_s.b, backend.get("key"), "removed before step #{removal}"
      break assert_operator(removal, :>, 7) if removal > steps
    end
  end

  private

  def before_each_step(action, steps = [[Dir, :mkdir], [File, :open], [File, :rename]], &block)
    (owner, name), *others = steps
    return yield unless owner
    original = owner.method(name)
    step = lambda do |*arguments, **options, &used|
      action.call
      original.call(*arguments, **options, &used)
    end
    owner.stub(name, step) { before_each_step(action, others, &block) }
  end

  def build(timeout: 20, **) = Tiercel::Backends::File.new(dir, timeout:, **)

  def entry_files = Dir["#{dir}/tiercel-v1/??/#{"?" * 32}"].sort

  def disk_bytes = Dir.glob("#{dir}/**/*").sum { |file| File.lstat(file).blocks * 512 }
end
