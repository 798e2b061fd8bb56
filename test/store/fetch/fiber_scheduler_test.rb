# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache/tiercel_store"
require "support/fiber_scheduler"

# `fetch` in the fibers of a scheduler: a waiting caller lets other fibers of its thread run.
class FetchInFibersTest < Tiercel::TestCase
  def setup
    super
    @stores = ["shared:#{dir}/segment", "file:#{dir}/files"].map { |url| Tiercel.new(url, lease_wait: 60) }
  end

  def teardown
    @stores.each(&:close)
    super
  end

  def test_fibers_share_one_block
    @stores.each do |store|
      runs = 0
      caller = -> { store.fetch("shared") { runs += 1; sleep 0.05; "made" } }
      assert_equal({ "made" => 3 }, in_fibers(*[caller] * 3).tally)
      assert_equal 1, runs
    end
  end

  # The program suspends this fiber by hand, and no scheduler knows it: nobody waits for it.
  def test_a_fiber_that_is_suspended_by_hand
    @stores.each do |store|
      suspended = -> { Fiber.new(blocking: true) { store.fetch("key") { Fiber.yield } }.resume && nil }
      assert_equal ["at once"], in_fibers(suspended, -> { store.fetch("key") { "at once" } }).compact
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
