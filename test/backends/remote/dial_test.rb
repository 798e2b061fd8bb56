# frozen_string_literal: true
# suites: kernel
# quick

require "test_helper"
require "minitest/mock"

class DialTest < Tiercel::TestCase
  Dial = Tiercel::Backends::Remote::Dial

  def soon = Tiercel::Clock.monotonic + 60

  # A caller's Timeout may raise any error while the first address is tried.
  def test_an_interruption_is_no_failure_of_an_address
    [RuntimeError, Errno::ECONNREFUSED].zip([1, 2]) do |error, attempts|
      tried = 0
      address = Object.new
      address.define_singleton_method(:connect) { |timeout:| (tried += 1) && raise(error, timeout.to_s) }
      Dial.stub(:look_up, [address, address]) { assert_raises(error) { Dial.tcp("name", 1, soon) } }
      assert_equal attempts, tried
    end
  end

  def test_a_deadline_that_is_over
    assert_raises(Errno::ETIMEDOUT) { Dial.tcp("127.0.0.1", 1, Tiercel::Clock.monotonic - 1) }
  end

  # If it waited again after a signal, signals could keep a caller beyond its deadline.
  def test_a_receive_ends_by_a_signal_or_with_what_arrives
    here, there = UNIXSocket.pair
    here.nonblock = false
    receive = -> { Tiercel::CodecExt.receive(here, 2, +"from before") }
    receiving = Thread.new { [receive.call] }
    10_000.times { receiving.join(0.001) ? break : receiving.wakeup }
    assert_equal [nil], receiving.join(0)&.value
    there.write("reply")
    there.close
    assert_equal ["re", "pl", "y", ""], Array.new(4) { receive.call }
  ensure
    there.close
  end

  # A busy server accepts the connection a little later.
  def test_a_unix_socket_whose_queue_is_full
    with_tmpdir do |dir|
      path = "#{dir}/full.sock"
      listener = Socket.new(:UNIX, :STREAM)
      listener.bind(Addrinfo.unix(path))
      listener.listen(0)
      others = [Dial.unix(path, soon)]
      assert_raises(Errno::ETIMEDOUT) { others << Dial.unix(path, Tiercel::Clock.monotonic + 0.2) while true }
      taker = Thread.new { sleep(0.05) && loop { others << listener.accept.first } }
      others << Dial.unix(path, soon)
    ensure
      taker&.kill
      [listener, *others].each(&:close)
    end
  end
end
