# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache/tiercel_store"

# Callers that arrive during the leader's take, and that read after a delete that the take has not seen.
class FetchLateCallersTest < Tiercel::TestCase
  def setup
    super
    @dir = Dir.mktmpdir("tiercel-late")
  end

  def teardown
    @store&.close
    FileUtils.rm_rf(@dir)
    super
  end

  # Hooks around the store's first take: code before it, and code between its result and its caller.
  def at_the_first_take(before, after)
    first = true
    leases = @store.instance_variable_get(:@settings).leases
    %i[take take_absent].each do |name|
      leases.define_singleton_method(name) do |*arguments, **options, &block|
        mine = first
        first = false
        before.call if mine
        super(*arguments, **options, &block).tap { after.call if mine }
      end
    end
  end

  # @return [Queue] receives a queue once the first caller has read; pushing to that queue lets the caller continue
  def hold_back_the_first_boarding
    read, first = Queue.new, true
    flights = @store.instance_variable_get(:@settings).flights
    flights.define_singleton_method(:board) do |*arguments, **options|
      held, first = first, false
      Queue.new.tap { |gate| read << gate }.pop if held
      super(*arguments, **options)
    end
    read
  end

  def after_the_next_take
    first = true
    leases = @store.instance_variable_get(:@settings).leases
    %i[take take_absent].each do |name|
      leases.define_singleton_method(name) do |*arguments, **options, &block|
        mine, first = first, false
        super(*arguments, **options, &block).tap { yield if mine }
      end
    end
  end

  # A caller that begins now and has progressed as far as it can alone.
  def late_caller
    Thread.new { @store.fetch("name", **@options) { "new" } }.tap { |thread| Thread.pass until thread.stop? }
  end

  %w[memory file].product([true, false]).each do |place, fast|
    define_method(:"test_#{place}#{"_plainly" unless fast}_a_value_that_a_take_has_met_is_not_theirs") do
      late = nil
      open_store(place, fast)
      at_the_first_take(-> { @store.write("name", "old") }, lambda do
        @store.delete("name")
        late = late_caller
      end)
      @store.fetch("name") { "newer" } # or the old value: it began before the delete
      assert_includes %w[new newer], late.value
      assert_equal late.value, @store.read("name")
    end

    define_method(:"test_#{place}#{"_plainly" unless fast}_a_stale_value_that_a_take_has_met_is_not_theirs") do
      late = nil
      open_store(place, fast, stale_while_revalidate: 600)
      @store.write("name", "old", expires_in: 0.001)
      Thread.pass while @store.read("name")
      at_the_first_take(-> {}, lambda do
        @store.delete("name")
        late = late_caller
      end)
      assert_equal("newer", @store.fetch("name") { "newer" })
      assert_includes %w[new newer], late.value
    end

    # The second caller reads before the lease is acquired; the third one joins while the take is in progress.
    define_method(:"test_#{place}#{"_plainly" unless fast}_all_go_with_a_block_that_stores_nothing") do
      open_store(place, fast, lease_wait: 15)
      ended, runs = Queue.new, Queue.new
      caller = -> { Thread.new { @store.fetch("name", skip_nil: true) { runs << ended.pop && nil } } }
      read = hold_back_the_first_boarding
      second = caller.call
      boarding = read.pop
      first = caller.call
      Thread.pass until runs.num_waiting.zero? && ended.num_waiting == 1
      third = nil
      after_the_next_take { third = caller.call.tap { |thread| Thread.pass until thread.stop? } }
      boarding << 1
      Thread.pass until third && [second, third].all?(&:stop?)
      sleep 0.1
      3.times { ended << 1 }
      assert_equal [nil] * 3, [first, second, third].map(&:value)
      assert_equal 1, runs.size
    end

    # The block runs without a lease, because the existing lease is for another version.
    define_method(:"test_#{place}#{"_plainly" unless fast}_nobody_comes_along_once_a_block_runs_without_a_lease") do
      open_store(place, fast)
      gates = Array.new(3) { Queue.new }
      first = begin_block("1", gates[0])
      second = begin_block("2", gates[1])
      @store.delete("name")
      third = Thread.new { @store.fetch("name", version: "2") { "after the delete" } }
      assert third.join(15), "it waits for a block that began before the delete" # of the 20 s of lease_wait
      assert_equal "after the delete", third.value
      gates.each { |gate| gate << 1 }
      assert_equal %w[of_1 of_2], [first, second].map(&:value)
    end
  end

  def begin_block(version, gate)
    began = Queue.new
    Thread.new do
      @store.fetch("name", version:) do
        began << 1
        gate.pop
        "of_#{version}"
      end
    end.tap { began.pop }
  end

  def open_store(place, fast, **options)
    @options = {}
    url = place == "memory" ? "memory:" : "file:#{@dir}/cache"
    @store = Tiercel.new(url, fast_path: fast, **options)
  end
end
