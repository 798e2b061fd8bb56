# frozen_string_literal: true
# suites: kernel

require "test_helper"
require "timeout"

# The lock of `file:` and `sqlite:` when its holder ends abnormally.
class FileLockTest < Tiercel::TestCase
  class Interruption < StandardError; end

  def test_what_interrupts_a_release_comes_after_it
    lock = lock_in(dir)
    lock.define_singleton_method(:release) do |file|
      Thread.current.raise(Interruption) # like a Timeout at exactly this moment
      super(file)
    end
    assert_raises(Interruption) { lock.hold { :done } }
    assert_equal :free, lock_in(dir).hold { :free }
  end

  def test_the_lock_of_a_killed_parent_is_let_go_though_its_child_lives
    with_tmpdir do |directory|
      holding, child_pid = IO.pipe
      parent = fork { hold_with_a_child(lock_in(directory), child_pid) }
      child = holding.gets.to_i
      Process.kill(:KILL, parent)
      Process.wait(parent)
      assert_equal 1, Process.kill(0, child), "the child lives"
      assert_equal :free, lock_in(directory).hold { :free }
    ensure
      Process.kill(:KILL, child) if child&.positive?
    end
  end

  # The child shares the open file.
  def test_a_child_that_is_forked_while_the_lock_is_held_keeps_it_from_nobody
    child = nil
    lock_in(dir).hold { child = fork { sleep 60 } }
    assert_equal :free, lock_in(dir).hold { :free }
  ensure
    Process.kill(:KILL, child) && Process.wait(child) if child
  end

  # Fails like a network file system on which another machine removed the file.
  def test_a_stale_lock_file_is_opened_anew
    lock = lock_in(dir)
    files = 0
    lock.define_singleton_method(:open) do
      super().tap { |file| file.define_singleton_method(:flock) { |_| raise Errno::ESTALE } if (files += 1) == 1 }
    end
    assert_equal :free, lock.hold { :free }
    assert_equal 2, files
  end

  def test_a_lock_file_that_is_replaced_before_it_is_locked_is_opened_anew
    lock = lock_in(dir)
    files = 0
    lock.define_singleton_method(:open) { super().tap { File.unlink(path) if (files += 1) == 1 } }
    assert(lock.hold { |file| File.identical?(file, lock.path) })
    assert_equal 2, files
  end

  def test_it_is_held_by_one_thread_of_one_process
    lock_in(dir).hold { File.write("#{dir}/count", "0") }
    fork_and_wait(4) do
      lock = lock_in(dir)
      2.times.map { Thread.new { 50.times { lock.hold { count_up("#{dir}/count") } } } }.each(&:join)
    end
    assert_equal "400", File.read("#{dir}/count")
  end

  def test_a_folder_that_takes_no_files_ends_the_call
    assert_raises(SystemCallError) do
      Timeout.timeout(20) { Tiercel::FileLock.new("/proc/tiercel.lock", 1).hold { flunk } }
    end
  end

  def test_waiting_ends_with_the_budget
    lock_in(dir).hold do
      started = Tiercel::Clock.monotonic
      assert_raises(Tiercel::FileLock::Busy) { lock_in(dir).hold(0.05) { flunk } }
      assert_raises(Tiercel::FileLock::Busy) { lock_in(dir).hold(0.0) { flunk } }
      assert_operator Tiercel::Clock.monotonic - started, :<, 20
    end
  end

  def test_a_file_that_other_code_closes_ends_nothing
    lock = lock_in(dir)
    assert_nil(lock.hold(&:close))
    assert_equal(:free, lock.hold { :free })
  end

  private

  def lock_in(directory) = Tiercel::FileLock.new(File.join(directory, "00"), 2)

  def count_up(path) = File.write(path, (File.read(path).to_i + 1).to_s)

  # The file was opened before the fork and is locked after it.
  def hold_with_a_child(lock, child_pid)
    lock.hold { :opened }
    child = fork { sleep 60 }
    lock.hold do
      child_pid.puts(child)
      sleep 60
    end
  end
end
