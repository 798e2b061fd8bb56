# frozen_string_literal: true
# suites: store*

require "test_helper"
require "active_support/cache/tiercel_store"

# A near segment notices other processes that change the file behind it.
class TiersWatchTest < Tiercel::TestCase
  def setup
    @stores = []
  end

  def teardown
    @stores.each(&:close)
  end

  def file = "sqlite:#{dir}/cache.sqlite3"

  def open_store(*urls)
    ActiveSupport::Cache::TiercelStore.new(*urls, timeout: 20).tap { |store| @stores << store }
  end

  # Copies are trusted however long a busy machine takes between two steps.
  def stack(name = "segment", **)
    open_store("shared:#{dir}/#{name}?size=1MB", file, **).tap { |store| near(store).coverage.trust = 600 }
  end

  def plain = @plain ||= open_store(file)

  def near(store) = store.backend.near

  # Pretends that a second has passed since the last check.
  def look(store)
    watch = near(store).bus
    watch.instance_variable_set(:@checked_ns, nil)
    watch.listen
  end

  def alone?(store) = near(store).stats[:bus][:alone]

  def test_copies_live_a_minute_where_nobody_else_changes_the_file
    store = stack
    store.write("key", "old")
    assert_equal "old", store.read("key")
    assert near(store).get("key")
    assert_equal 60.0, near(store).ttl
    fork_and_wait(2) { |index| stack.write("other #{index}", "value") }
    look(store)
    assert_equal true, alone?(store)
    assert near(store).get("key")
  end

  # Otherwise every entry written before the process' first read would be read from the file once more.
  def test_what_is_written_before_the_first_read_leaves_copies
    store = stack
    store.write("key", "value")
    tiers = []
    subscription = ActiveSupport::Notifications.subscribe("cache_read.active_support") do |*, payload|
      tiers << payload[:tier]
    end
    assert_equal "value", store.read("key")
    assert_equal [near(store).to_s], tiers
    assert_equal 1, near(store).stats[:bus][:gaps]
  ensure
    ActiveSupport::Notifications.unsubscribe(subscription)
  end

  def test_a_program_without_a_near_tier_is_noticed
    store = stack
    store.write("key", "old")
    assert_equal "old", store.read("key")
    near(store).coverage.trust = 60
    near(store).coverage.stub(:now, near(store).coverage.now) do # within a second
      fork_and_wait(1) { plain.write("key", "new") }
      assert_equal "old", store.read("key")
    end
    look(store)
    assert_equal "new", store.read("key")
    assert_equal [false, 1.0], [alone?(store), near(store).ttl]
    travel(30) do
      look(store)
      assert_equal [true, 60.0], [alone?(store), near(store).ttl]
    end
  end

  # By then every process of the segment has noticed the other program.
  def test_three_seconds_after_another_program_was_noticed_copies_stay_again
    store = stack
    store.read("key")
    plain.write("key", "value")
    earlier = near(store).coverage.now - Tiercel::Tiers::Watch::NOTICING_NS
    near(store).coverage.stub(:now, earlier) { look(store) }
    gaps = near(store).stats[:bus][:gaps]
    look(store)
    assert_equal [false, gaps], near(store).stats[:bus].values_at(:alone, :gaps)
  end

  # When the change began, its registration was valid for one more second; the change ends 8 s later.
  def test_a_change_that_takes_long_is_noticed
    store = stack
    plain.write("key", "old")
    backend = plain.backend
    later = nil
    backend.define_singleton_method(:put) { |*arguments| later.call && super(*arguments) }
    later = lambda do
      travel(8) do
        look(store)
        store.read("key")
      end
    end
    travel(9) { plain.write("key", "new") }
    travel(17) do
      look(store)
      assert_equal "new", store.read("key")
    end
  end

  def test_two_segments_notice_each_other
    one = stack("one")
    other = stack("other")
    one.write("key", "old")
    assert_equal %w[old old], [one.read("key"), other.read("key")]
    look(one)
    assert_equal true, alone?(one) # the other one has only read
    other.write("key", "new")
    [one, other].each { |store| look(store) }
    assert_equal %w[new new], [one.read("key"), other.read("key")]
    assert_equal [1.0, 1.0], [near(one).ttl, near(other).ttl]
  end

  # A process registers before it changes the file, so a check after the change sees it.
  def test_every_way_to_change_the_file_registers
    { write: ->(store) { store.write("key", 1) }, delete: ->(store) { store.delete("key") },
      write_multi: ->(store) { store.write_multi({ "key" => 1 }) }, clear: ->(store) { store.clear },
      increment: ->(store) { store.increment("count") } }.each_with_index do |(name, change), index|
      store = stack("of #{name}")
      store.read("key")
      look(store)
      travel(60 * (index + 1)) do
        look(store)
        assert_equal true, alone?(store), name
        change.call(open_store(file))
        look(store)
        assert_equal false, alone?(store), name
      end
    end
  end

  def test_where_the_file_cannot_be_asked_nothing_more_is_covered
    store = stack
    store.write("key", "value")
    assert_equal "value", store.read("key")
    covered = near(store).coverage.covered
    store.backend.last.stub(:others_since?, ->(*) { raise Tiercel::TimedOut }) { look(store) }
    assert_equal covered, near(store).coverage.covered
    assert near(store).get("key")
    look(store)
    assert_operator near(store).coverage.covered, :>, covered
  end

  # A console or a cron job on a machine without traffic. No process has looked at the file for five seconds.
  def test_a_new_process_on_an_idle_machine_keeps_the_copies
    store = stack
    store.write("key", "value")
    store.read("key")
    gaps = near(store).stats[:bus][:gaps]
    fork_and_wait(1) do
      other = stack
      later = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) + 5_000_000_000 }
      near(other).coverage.define_singleton_method(:now, &later)
      other.read("nothing") && nil
    end
    assert_equal gaps, near(store).stats[:bus][:gaps]
    assert near(store).get("key")
  end
end
