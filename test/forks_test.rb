# frozen_string_literal: true
# suites: store

require "test_helper"

# A process distinguishes its own things from those of its parent.
class ForksTest < Tiercel::TestCase
  def test_a_child_knows_what_is_its_parents
    mark = Tiercel::Forks.current
    assert Tiercel::Forks.current?(mark)
    refute Tiercel::Forks.current?(nil)
    children = fork_and_wait(1) { [Tiercel::Forks.current?(mark), Tiercel::Forks.current?(Tiercel::Forks.current)] }
    assert_equal [[false, true]], children
  end

  # Each call of a backend compares it.
  def test_the_current_process_is_read_without_a_ruby_method
    assert_nil Tiercel::Forks.method(:current).source_location
    assert_equal Process.pid, Tiercel::Forks.current
  end

  # Ruby runs no fork hook for a daemon.
  def test_a_daemon_knows_it_too
    IO.pipe do |reader, writer|
      pid = fork do
        mark = Tiercel::Forks.current
        Process.daemon(true, true)
        writer.write(Tiercel::Forks.current?(mark))
        exit!(0)
      end
      Process.wait(pid)
      writer.close
      assert_equal "false", reader.read
    end
  end
end
