# frozen_string_literal: true
# suites: store

require "test_helper"
require "tiercel"
require "open3"
require "timeout"

class SQLiteForksTest < Tiercel::TestCase
  LIB = File.expand_path("../../../lib", __dir__)
  # Another thread holds the lock of one of two backends.
  IN_A_HANDLER = <<~RUBY
    require "tiercel"
    backends = %w[a b].map { |name| Tiercel::Backends::SQLite.new(File.join(ARGV.first, name)) }
    backends.each { |backend| backend.set("key", "value") }
    taken, go, forked = Array.new(3) { Queue.new }
    holder = Thread.new { backends[1].get_multi(Enumerator.new { taken << true && go.pop }) }
    taken.pop
    trap("USR1") { forked << fork { exit!(0) } }
    Process.kill(:USR1, Process.pid)
    puts Process.wait2(forked.pop(timeout: 60)).last.success?
    go << true
    holder.join
  RUBY

  # In a signal handler Ruby cannot lock a Mutex. Runs in a separate process, because other loaded gems lock one after
  # a fork.
  def test_a_fork_in_a_signal_handler_while_another_thread_uses_the_file
    output, status = Open3.capture2e(RbConfig.ruby, "-I#{LIB}", "-e", IN_A_HANDLER, dir)

    assert_equal ["true\n", true], [output, status.success?]
  end

  def test_a_fork_that_is_given_up_keeps_no_lock
    while_locked do |others|
      assert_raises(Timeout::Error) { Timeout.timeout(0.05) { fork { exit!(0) } } }
      assert_equal([true, true], others.map { |other| Thread.new { other.set("key", "value") }.value })
    end
  end

  private

  # Runs the block while another thread holds the lock of one of three backends.
  def while_locked
    with_tmpdir do |directory|
      backends = %w[a b c].map { |name| Tiercel::Backends::SQLite.new(File.join(directory, name)) }
      backends.each { |backend| backend.set("key", "value") }
      go = Queue.new
      taken = Queue.new
      holder = Thread.new { backends[1].get_multi(Enumerator.new { taken << true && go.pop }) }
      taken.pop
      yield backends.values_at(0, 2)
    ensure
      go << true
      holder.join
      backends.each(&:close)
    end
  end
end
