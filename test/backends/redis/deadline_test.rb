# frozen_string_literal: true
# suites: store

require "test_helper"
require "tiercel/backends/redis"

class RedisDeadlineTest < Tiercel::TestCase
  Deadline = Tiercel::Backends::Redis::Deadline

  def teardown = Deadline.set(nil)

  # hiredis counts whole microseconds and treats 0 as no limit.
  def test_less_than_a_microsecond_is_not_waited_for_without_a_limit
    Tiercel::Clock.stub(:monotonic, 100.0) do
      Deadline.set(100.0 + 1e-7)
      assert_operator Deadline.seconds_left, :>=, 1e-6
      Deadline.set(100.0)
      assert_raises(Deadline::Spent) { Deadline.seconds_left }
      Deadline.set(103.0)
      assert_in_delta 3.0, Deadline.seconds_left
      Deadline.set(nil)
      assert_nil Deadline.seconds_left
    end
  end
end
