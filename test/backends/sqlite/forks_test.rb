# frozen_string_literal: true
# suites: store

require "test_helper"
require "tiercel/backends/sqlite"
require "timeout"

class SQLiteForksTest < Tiercel::TestCase
  # There Ruby lets nobody wait for a Mutex.
  def test_a_fork_in_a_signal_handler_while_another_thread_uses_the_file
    while_locked do
      child = nil
      before = trap("USR1") { child = fork { exit!(0) } }
      Process.kill(:USR1, Process.pid)
      wait_until("the fork") { child }
      assert_predicate Process.wait2(child).last, :success?
    ensure
      trap("USR1", before || "DEFAULT")
    end
  end

  def test_a_fork_that_is_given_up_keeps_no_lock
    while_locked do |others|
      assert_raises(Timeout::Error) { Timeout.timeout(0.05) { fork { exit!(0) } } }
      assert_equal([true, true], others.map { |other| Thread.new { other.set("key", "value") }.value })
    end
  end

  private

  # Another thread holds the lock of one of three backends.
  def while_locked
    with_tmpdir do |directory|
      backends = %w[a b c].map { |name| Tiercel::Backends::SQLite.new(File.join(directory, name)) }
      backends.each { |backend| backend.set("key", "value") }
      go = Queue.new
      taken = Queue.new
      holder = Thread.new { backends[1].instance_variable_get(:@access).read { taken << true && go.pop } }
      taken.pop
      yield backends.values_at(0, 2)
    ensure
      go << true
      holder.join
      backends.each(&:close)
    end
  end
end
