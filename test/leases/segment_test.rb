# frozen_string_literal: true
# suites: store

require "test_helper"
require "support/fiber_scheduler"
require "tiercel/leases"

# Leases in the segment's table, by processes, threads and fibers.
class LeasesSegmentTest < Tiercel::TestCase
  Present = Tiercel::Leases::Present

  # A guard that lets everything through.
  class Through
    def call(_method, _key = nil, returning: nil) = yield # rubocop:disable Lint/UnusedMethodArgument
    def too_large(_key, _bytesize) = :too_large
  end

  def setup
    @directory = Dir.mktmpdir("tiercel-leases-")
    @backend = Tiercel.new("shared:#{@directory}/s", size: "4MB").backend
    @leases = Tiercel::Leases.for(@backend, Through.new)
  end

  def teardown
    @backend.close
    FileUtils.rm_rf(@directory)
  end

  def test_the_table_is_what_shared_and_memory_give
    memory = Tiercel.new("memory:", size: "1MB").backend
    [@leases, Tiercel::Leases.for(memory, Through.new)].each do |leases|
      assert_instance_of Tiercel::Leases::Segment, leases
      assert_equal [true, false], 2.times.map { leases.take("k", 10.0) { flunk }.mine? }
    end
  end

  def test_a_holder_and_those_who_meet_him
    mine = take("k", version: "1")
    same, other = %w[1 2].map { |version| take("k", version:) }

    assert_equal [mine.lineage, mine.holder, "1"], [same.lineage, same.holder, same.version]
    refute_includes [nil, "1", "2"], other.version
    assert_in_delta mine.lapses_at, same.lapses_at, 1
    assert @leases.fill(mine, "value", nil)
    assert_equal Present.new("value"), @leases.take("k", 10.0) { :current }
    refute @leases.fill(same, "late", nil)
  end

  def test_the_stale_value_is_the_entry_itself
    @backend.set("k", "stale")
    mine = @leases.take("k", 10.0) { |bytes| bytes }

    assert_equal ["stale", "stale", "stale"], [mine.stale, take("k").stale, @backend.get("k")]
    @leases.release(mine)
    longer = @leases.take("k", 10.0) { "for longer" }

    assert_equal [mine.lineage, "for longer", "for longer"], [longer.lineage, longer.stale, @backend.get("k")]
    @leases.release(longer)

    assert_nil @leases.take("k", 10.0) { nil }.stale
    assert_nil @backend.get("k")
  end

  def test_waiters_are_told_at_once_what_happened
    { filled: ->(mine) { @leases.fill(mine, "value", nil) }, released: ->(mine) { @leases.release(mine) },
      paused: ->(mine) { @leases.release(mine, pause: 5.0) }, gone: ->(mine) { @backend.delete(mine.key) },
      cleared: ->(_) { @backend.clear }, matched: ->(_) { @backend.end_leases },
      written: ->(mine) { @backend.set(mine.key, "value") } }.each do |what, change|
      mine = take("k")
      waiters = Array.new(10) { Thread.new { @leases.wait(take("k"), monotonic + 60) } }
      wait_until("ten wait") { waiters.count { |thread| thread.status == "sleep" } == 10 }
      took = seconds { [change.call(mine), waiters.each(&:join)] }
      expected = { filled: Present.new("value"), written: Present.new("value"), released: :released, paused: :released }

      assert_equal [expected.fetch(what, :gone)], waiters.map(&:value).uniq, what
      assert_operator took, :<, 5, what
      @backend.clear
    end
  end

  def test_a_wait_ends_at_its_deadline_and_at_the_leases_end_and_when_it_is_interrupted
    take("k")
    held = take("k")

    assert_equal :deadline, @leases.wait(held, monotonic + 0.02)
    waiter = Thread.new { @leases.wait(held, monotonic + 60) }
    wait_until { waiter.status == "sleep" }
    waiter.kill

    assert waiter.join(5), "a killed thread goes on waiting"
    take("short", ttl: 0.05)

    assert_equal :lapsed, @leases.wait(take("short"), monotonic + 60)
    assert @leases.lapsed?(take("short", ttl: 0.0))
  end

  def test_a_killed_holder_is_noticed_at_once
    child = in_a_child { take("k", ttl: 600.0) }
    held = take("k")

    refute held.mine?
    Thread.new { Process.kill(:KILL, child) }
    state = nil
    took = seconds { state = @leases.wait(held, monotonic + 60) }

    assert_equal :lapsed, state
    assert_operator took, :<, 0.5
    again = take("k")

    assert_equal [true, held.lineage], [again.mine?, again.lineage]
  ensure
    Process.wait(child) if child
  end

  def test_a_stopped_holders_lease_lapses_and_the_first_that_finishes_is_stored
    child = in_a_child do |go_on|
      lease = take("k", ttl: 0.3)
      -> { go_on.read(1) && @leases.fill(lease, "first", nil) }
    end
    held = take("k")
    Process.kill(:STOP, child)

    assert_equal :lapsed, @leases.wait(held, monotonic + 60)
    mine = take("k")

    assert_predicate mine, :mine?
    Process.kill(:CONT, child)
    @go_on.write("x")
    Process.wait(child)

    assert_equal "first", @backend.get("k")
    refute @leases.fill(mine, "second", nil)
  end

  def test_no_thread_of_a_fiber_scheduler_is_blocked
    mine = take("k")
    order = []
    Thread.new do
      Fiber.set_scheduler(Tiercel::FiberScheduler.new)
      Fiber.schedule { order << @leases.wait(take("k"), monotonic + 60) }
      Fiber.schedule do
        sleep 0.01
        order << :other_fiber
        @leases.fill(mine, "value", nil)
      end
    end.join(20)

    assert_equal [:other_fiber, Present.new("value")], order
  end

  # A fork's copy of private memory: nobody in the child computes what the parent's thread does.
  def test_a_child_takes_over_what_its_copy_of_private_memory_holds
    backend = Tiercel.new("memory:", size: "1MB").backend
    leases = Tiercel::Leases.for(backend, Through.new)
    mine = leases.take("k", 600.0) { flunk }

    assert_equal([[true, false]], fork_and_wait(1) { [leases.take("k", 1.0) { flunk }.mine?, mine.mine?] })
    assert leases.fill(mine, "value", nil)
  end

  def test_a_full_table_is_counted_and_its_callers_store_all_the_same
    backend = Tiercel.new("memory:", size: "1MB").backend
    leases = Tiercel::Leases.for(backend, Through.new)
    all = Array.new(600) { |number| leases.take("k#{number}", 10.0) { flunk } }

    assert all.all?(&:mine?)
    assert_operator backend.stats[:leases], :<=, 256
    assert_equal 600, backend.stats[:leases] + backend.stats[:lease_table_full]
    backend.set("k599", "written")
    stored = all.map { |lease| leases.fill(lease, "value", nil) }

    assert_equal [600, false], [stored.count(true) + 1, stored.last]
    assert_equal 0, backend.stats[:leases]
  end

  def test_a_value_that_is_too_large_ends_the_lease
    mine = take("k")

    assert_equal :too_large, @leases.fill(mine, "x" * 2_000_000, nil)
    assert_predicate take("k"), :mine?
  end

  def test_what_is_resized_meanwhile_lets_waiters_go
    take("k")
    held = take("k")
    waiter = Thread.new { @leases.wait(held, monotonic + 60) }
    wait_until { waiter.status == "sleep" }
    Tiercel::Segment.replace("#{@directory}/s", bytes: 2 << 20)

    assert waiter.join(5)
    assert_equal :gone, waiter.value
  end

  # Of 8 processes that read, compute and delete, none reads what was computed before a delete that had returned.
  def test_nothing_deleted_comes_back
    origin = File.join(@directory, "origin")
    File.write(origin, [0].pack("Q"))
    fork_and_wait(8) do |index|
      random = Random.new(index)
      300.times { random.rand(6).zero? ? change(origin) : read_or_compute(origin) }
    end
    stats = @backend.stats

    assert_operator stats[:leases_taken], :>, 50
    assert_operator stats[:lease_fills_lost], :>, 0
  end

  # Half of the segment is written while the value is computed.
  def test_eviction_does_not_reach_a_lease
    stored = Array.new(20) do |round|
      mine = take("k#{round}")
      1_000.times { |number| @backend.set("other#{round}-#{number}", "x" * 2_000) }
      @leases.fill(mine, "value", nil) && @backend.get("k#{round}") == "value"
    end

    assert_operator stored.count(true), :>=, 19
  end

  private

  def take(key, ttl: 10.0, version: nil) = @leases.take(key, ttl, version:) { |bytes| bytes }

  def monotonic = Tiercel::Clock.monotonic

  def seconds
    began = monotonic
    yield
    monotonic - began
  end

  # A child that has done what the block says, and then waits, or does what the block's lambda says.
  def in_a_child
    ready, done = IO.pipe
    go_on, @go_on = IO.pipe
    child = fork do
      rest = yield go_on
      done.write("x")
      rest.respond_to?(:call) ? rest.call : sleep
    ensure
      exit!(0)
    end
    ready.read(1)
    child
  end

  # The number in a file is the origin; who changes it deletes afterwards, under no lock that readers know.
  def change(origin)
    File.open(origin, "r+b") do |file|
      file.flock(File::LOCK_EX)
      file.pwrite([@floor = number(file) + 1].pack("Q"), 0)
    end
    @backend.delete("origin")
  end

  def number(file) = file.pread(8, 0).unpack1("Q")

  # What is read is at least what the last delete that this process made found.
  def read_or_compute(origin)
    seen = @backend.get("origin")
    @floor ||= 0
    if seen
      assert_operator Integer(seen), :>=, @floor
    else
      lease = @leases.take("origin", 2.0) { |bytes| bytes }
      value = File.open(origin, "rb") { |file| number(file) }
      sleep(rand * 0.002)
      @leases.fill(lease, value.to_s, nil) if lease.respond_to?(:lineage)
    end
  end
end
