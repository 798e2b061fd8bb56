# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache/tiercel_store"
require "support/fiber_scheduler"
require "tmpdir"

# `fetch` in the fibers of a scheduler: a waiting caller lets other fibers of its thread run.
class FetchInFibersTest < Tiercel::TestCase
  def setup
    super
    @dir = Dir.mktmpdir("tiercel-fibers-")
    @stores = ["shared:#{@dir}/segment", "file:#{@dir}/files"].map { |url| Tiercel.new(url, lease_wait: 20) }
  end

  def teardown
    @stores.each(&:close)
    FileUtils.rm_rf(@dir)
    super
  end

  def test_a_block_with_a_time_limit_lets_the_others_go_on
    @stores.each do |store|
      order = in_fibers(
        -> { store.fetch("slow", timeout: 20) { sleep 0.2; "made" } },
        -> { sleep(0.01) && "other" }
      )
      assert_equal %w[other made], order
      assert_equal "made", store.read("slow")
    end
  end

  def test_a_caller_whose_time_is_over_leaves
    @stores.each do |store|
      gate = Queue.new
      order = in_fibers(
        lambda do
          store.fetch("late", timeout: 0.1) { gate.pop }
        rescue Tiercel::FetchTimeout
          gate << "stored"
          "left"
        end,
        -> { sleep(0.01) && "other" }
      )
      assert_equal %w[other left], order
      assert_equal("stored", store.fetch("late") { "again" })
    end
  end

  def test_fibers_share_one_block
    @stores.each do |store|
      runs = 0
      caller = -> { store.fetch("shared", timeout: 20) { runs += 1; sleep 0.05; "made" } }
      without = -> { store.fetch("plain") { runs += 1; sleep 0.05; "plain" } }
      assert_equal({ "made" => 3, "plain" => 3 }, in_fibers(*[caller, without] * 3).tally)
      assert_equal 2, runs
    end
  end

  # Async's timeouts raise like this.
  def test_what_is_raised_into_a_fiber_is_its_own
    @stores.each do |store|
      leader = nil
      order = in_fibers(
        lambda do
          leader = Fiber.current
          store.fetch("key") { sleep }
        rescue Tiercel::Error => error
          error.class
        end,
        -> { store.fetch("key") { "made" } },
        -> { sleep(0.01) && Fiber.scheduler.interrupt(leader, Tiercel::Error, "too late") && nil }
      )
      assert_equal [Tiercel::Error, "made"], order.compact
    end
  end

  private

  # @return [Array<Object>] results of the fibers, in the order in which they ended
  def in_fibers(*blocks)
    order = []
    Thread.new do
      Fiber.set_scheduler(Tiercel::FiberScheduler.new)
      blocks.each { |block| Fiber.schedule { order << block.call } }
    end.join(30) or flunk "the fibers have not ended"
    order
  end
end
