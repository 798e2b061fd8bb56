# frozen_string_literal: true

# suites: kernel

require "test_helper"
require "minitest/mock"
require "active_support"
require "active_support/testing/time_helpers"
require "tiercel/segment"

# The segment uses any replacement of Time.now; without one it reads the clock itself.
class ClockTest < Tiercel::TestCase
  include ActiveSupport::Testing::TimeHelpers

  def setup
    super
    @segment = Tiercel::Segment.open(bytes: 1 << 20)
    @segment.set("key", "value", 60)
  end

  def teardown
    @segment.close
    super
  end

  def live? = !@segment.get("key").nil?

  # Runs in a separate process with an unpatched Time.
  def apart
    assert_equal ["done"], fork_and_wait(1) {
      yield
      "done"
    }
  end

  # @yieldreturn [Time] the next value of Time.now
  def assert_asked(later = 120)
    assert live?
    yield later
    refute live?, "the segment goes by a clock that nobody else has"
  end

  # A process without a test framework.
  def calls_of_now(before = "")
    script = <<~RUBY
      #{before}
      require "tiercel/segment"
      segment = Tiercel::Segment.open(bytes: 1 << 20)
      segment.set("key", "value", 60)
      calls = 0
      TracePoint.new(:call, :c_call) { |point| calls += 1 if point.method_id == :now }.enable { segment.get("key") }
      print calls
    RUBY
    IO.popen([RbConfig.ruby, "-I", File.expand_path("../lib", __dir__), "-e", script], &:read)
  end

  def test_ruby_is_asked_for_the_time_only_where_code_may_move_it
    assert_equal "0", calls_of_now
    rails = "module Rails; def self.env = Struct.new(:name) { def test? = %s; def development? = %s }.new; end"
    assert_equal %w[0 1 1], [%w[false false], %w[true false], %w[false true]].map { |env| calls_of_now(rails % env) }
    assert_equal "1", calls_of_now("module RSpec; end")
    assert_equal "2", calls_of_now("class << Time; alias_method :rubys, :now; def now = rubys; end")
  end

  def test_each_way_to_move_the_clock_and_back
    assert live?
    travel(120) { refute live? }
    assert live?
    Tiercel::Contracts::MovedClock.by(120) { refute live? }
    assert live?
    moved = Time.now + 120
    Time.stub(:now, moved) { refute live? }
    assert live?
    freeze_time do
      assert live?
      travel(120)
      refute live?
    end
    assert live?
  end

  def test_a_singleton_method_that_is_defined_and_removed
    apart do
      assert_asked do |later|
        Time.singleton_class.class_eval do
          alias_method :now_before, :now
          define_method(:now) { now_before + later }
        end
      end
      Time.singleton_class.class_eval { alias_method :now, :now_before }
      raise "not live" unless live?
    end
  end

  # Mocking libraries prepend the module first and define its method later.
  def test_a_prepended_module_that_gets_its_method_later
    apart do
      Time.singleton_class.prepend(mod = Module.new)
      assert_asked { |later| mod.define_method(:now) { |**options| super(**options) + later } }
      mod.remove_method(:now)
      raise "not live" unless live?
      inner = Module.new
      mod.include(inner)
      assert_asked { |later| inner.define_method(:now) { |**options| super(**options) + later } }
    end
  end

  # Timecop patches the clock long before the segment is loaded.
  def test_a_clock_that_was_moved_before_the_segment_was_loaded
    script = <<~RUBY
      class << Time
        alias_method :now_before, :now
        def now = now_before + ($later || 0)
      end
      require "tiercel/segment"
      segment = Tiercel::Segment.open(bytes: 1 << 20)
      segment.set("key", "value", 60)
      print segment.get("key").inspect
      $later = 120
      print segment.get("key").inspect
    RUBY
    lib = File.expand_path("../lib", __dir__)
    assert_equal '"value"nil', IO.popen([RbConfig.ruby, "-I", lib, "-e", script], &:read)
  end
end
