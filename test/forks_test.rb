# frozen_string_literal: true
# suites: store

require "test_helper"
require "tiercel"

# One hook for forks, one registry of handlers, and one module that knows the current process.
class ForksTest < Tiercel::TestCase
  # Restores the registry, which belongs to the whole process.
  def with_handlers(*handlers)
    before = Tiercel::Forks.handlers
    handlers.each { |handler| Tiercel::Forks.register(handler) }
    yield
  ensure
    Tiercel::Forks.instance_variable_set(:@handlers, before)
  end

  # Records its calls.
  def handler(name, seen)
    Object.new.tap do |made|
      made.define_singleton_method(:around_fork) do |&fork|
        seen << "before #{name}"
        pid = fork.call
        seen << "#{pid.zero? ? "child" : "parent"} #{name}"
        pid
      end
    end
  end

  def test_handlers_run_around_a_fork_in_parent_and_child
    seen = []
    with_handlers(handler("a", seen), handler("b", seen)) do
      assert_equal [["before a", "before b", "child b", "child a"]], fork_and_wait(1) { seen }
    end
    assert_equal ["before a", "before b", "parent b", "parent a"], seen
  end

  def test_a_handler_that_raises_forks_nothing_and_those_around_it_end
    seen = []
    failing = Object.new
    failing.define_singleton_method(:around_fork) { raise ArgumentError, "no" }
    outer = Object.new
    outer.define_singleton_method(:around_fork) { |&fork| fork.call.tap { seen << :never } }
    ensured = Object.new
    ensured.define_singleton_method(:around_fork) do |&fork|
      fork.call
    ensure
      seen << :ended
    end
    with_handlers(outer, ensured, failing) { assert_raises(ArgumentError) { fork { exit!(0) } } }
    assert_equal [:ended], seen
  end

  def test_a_child_knows_what_is_its_parents
    mark = Tiercel::Forks.current
    assert Tiercel::Forks.current?(mark)
    refute Tiercel::Forks.current?(nil)
    children = fork_and_wait(1) { [Tiercel::Forks.current?(mark), Tiercel::Forks.current?(Tiercel::Forks.current)] }
    assert_equal [[false, true]], children
  end

  # Each call of a backend compares it.
  def test_the_current_process_is_read_without_a_ruby_method
    called = []
    GC.start
    GC.disable # a finalizer would run in this thread
    TracePoint.new(:call) { |point| called << point.method_id }.enable(target_thread: Thread.current) do
      Tiercel::Forks.current
    end
    assert_empty called
    assert_equal Process.pid, Tiercel::Forks.current
  ensure
    GC.enable
  end

  # Ruby runs no fork handler for a daemon.
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
