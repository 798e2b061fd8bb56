# frozen_string_literal: true

# suites: kernel

require "test_helper"
require "minitest/mock"
require "active_support"
require "active_support/testing/time_helpers"
require "tiercel/segment"

# The segment uses any replacement of Time.now; without one it reads the clock itself.
class ClockPatchesTest < Tiercel::TestCase
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

  # Counts how often a read of an entry with an expiry calls the replacement of Time.now.
  def calls
    count = 0
    TracePoint.new(:call, :c_call) { |point| count += 1 if point.method_id == :now }.enable { @segment.get("key") }
    count
  end

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

  def test_nothing_is_called_while_time_now_is_rubys_own
    assert_predicate Tiercel::Clock::Patches, :original?
    assert_equal 0, calls
    travel(120) { refute live? }
    assert live?
    assert_equal 0, calls
    Tiercel::Contracts::MovedClock.by(120) { refute live? }
    assert live?
    assert_equal 0, calls
    moved = Time.now + 120
    Time.stub(:now, moved) { refute live? }
    assert live?
    assert_equal 0, calls
  end

  def test_time_that_is_frozen_is_asked
    freeze_time do
      assert live?
      assert_operator calls, :>=, 1
      travel(120)
      refute live?
    end
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
    lib = File.expand_path("../../lib", __dir__)
    assert_equal '"value"nil', IO.popen([RbConfig.ruby, "-I", lib, "-e", script], &:read)
  end
end
