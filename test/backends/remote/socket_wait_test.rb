# frozen_string_literal: true
# suites: kernel
# quick

require "test_helper"
require "socket"
require "tiercel/backends/remote/socket_wait"

class SocketWaitTest < Tiercel::TestCase
  SocketWait = Tiercel::Backends::Remote::SocketWait

  def late = Tiercel::Clock.monotonic + 30
  def over = Tiercel::Clock.monotonic - 1

  def test_until_the_socket_can_be_used_or_the_deadline_is_over
    UNIXSocket.pair do |one, other|
      assert SocketWait.call(one, :wait_writable, late)
      refute SocketWait.call(one, :wait_readable, over)
      other.write("x")
      assert SocketWait.call(one, :wait_readable, late)
      assert SocketWait.call(one, :wait_readable, over), "what has come is there after the deadline too"
    end
  end

  def test_a_wait_ends_with_what_comes
    UNIXSocket.pair do |one, other|
      writer = Thread.new { other.write("x") }
      assert SocketWait.call(one, :wait_readable, late)
      writer.join
    end
  end

  def test_seconds_until
    assert_in_delta 100, Tiercel::Clock.seconds_until(Tiercel::Clock.monotonic + 100), 50
    assert_equal 0, Tiercel::Clock.seconds_until(over)
  end
end
