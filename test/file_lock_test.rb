# frozen_string_literal: true
# suites: kernel

require "test_helper"
require "socket"
require "tiercel"

# The lock of `file:` and `sqlite:` when its holder ends abnormally.
class FileLockTest < Tiercel::TestCase
  class Interruption < StandardError; end

  def test_what_interrupts_a_release_comes_after_it
    lock = lock_in(dir)
    lock.define_singleton_method(:unlock_file) do
      Thread.current.raise(Interruption) # like a Timeout at exactly this moment
      super()
    end
    assert_raises(Interruption) { lock.hold { :done } }
    assert_equal :free, lock_in(dir).hold { :free }
    lock.singleton_class.remove_method(:unlock_file)
    assert_equal(:free, Thread.new { lock.hold { :free } }.value)
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

  # Fails like a network file system on which another machine removed the file.
  def test_a_stale_lock_file_is_opened_anew
    lock = lock_in(dir)
    lock.hold { :opened }
    lock.file.define_singleton_method(:flock) { |_| raise Errno::ESTALE }
    assert_raises(Errno::ESTALE) { lock.file.flock(0) }
    assert_equal :free, lock.hold { :free }
  end

  def test_it_is_held_by_one_thread_of_one_process
    lock_in(dir).hold { File.write("#{dir}/count", "0") }
    fork_and_wait(4) do
      lock = lock_in(dir)
      2.times.map { Thread.new { 50.times { lock.hold { count_up("#{dir}/count") } } } }.each(&:join)
    end
    assert_equal "400", File.read("#{dir}/count")
  end

  def test_who_holds_it_may_take_it_again
    lock = lock_in(dir)
    assert_equal(:inner, lock.hold { lock.hold { :inner } })
    assert_equal(:free, lock_in(dir).hold { :free })
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

  # A daemon closes all descriptors by number, and sockets reuse the numbers.
  def test_a_socket_that_took_the_number_of_a_closed_file_stays_open
    lock = lock_in(dir)
    answers = fork_and_wait(1) do
      lock.hold { :opened }
      socket = take_number(lock.file.fileno)
      result = [lock.hold { :held }, socket.first.write("x"), socket.last.read(1)]
      lock.close
      result << socket.first.closed? << (socket.first.stat.socket? && lock.hold { :again })
    end
    assert_equal [[:held, 1, "x", false, :again]], answers
  end

  def test_files_that_were_closed_under_it_are_opened_anew
    lock = lock_in(dir)
    lock.hold { :opened }
    lock.file.close
    assert_equal(:free, lock.hold { :free })
  end

  private

  def lock_in(directory) = Tiercel::FileLock.new(File.join(directory, "00"), 2)

  def count_up(path) = File.write(path, (File.read(path).to_i + 1).to_s)

  def take_number(number)
    IO.for_fd(number).close
    pairs = []
    pairs << UNIXSocket.pair until pairs.flatten.any? { |socket| socket.fileno == number }
    pair = pairs.last
    pair.first.fileno == number ? pair : pair.reverse
  end

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
