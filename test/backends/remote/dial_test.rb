# frozen_string_literal: true
# suites: kernel
# quick

require "test_helper"
require "minitest/mock"
require "tiercel"

class DialTest < Tiercel::TestCase
  Dial = Tiercel::Backends::Remote::Dial

  def soon = Tiercel::Clock.monotonic + 0.2

  def test_a_name_and_an_address
    TCPServer.open("127.0.0.1", 0) do |server|
      %w[127.0.0.1 localhost].each do |host|
        socket = Dial.tcp(host, server.addr[1], Tiercel::Clock.monotonic + 10)
        assert_equal server.addr[1], socket.remote_address.ip_port
      ensure
        socket&.close
      end
    end
  end

  # redis-cluster-client passes the host of a URL with its brackets.
  def test_an_address_in_brackets
    assert_equal ["::1"], Dial.look_up("[::1]", 1, soon).map(&:ip_address)
  end

  def test_nobody_there
    port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
    assert_raises(Errno::ECONNREFUSED) { Dial.tcp("127.0.0.1", port, soon) }
    assert_raises(SocketError) { Dial.tcp("nobody.invalid", port, Tiercel::Clock.monotonic + 30) }
  end

  # A caller's Timeout may raise any error while the first address is tried.
  def test_an_interruption_is_no_failure_of_an_address
    [RuntimeError, Errno::ECONNREFUSED].zip([1, 2]) do |error, attempts|
      tried = 0
      Dial.stub(:look_up, [Addrinfo.tcp("127.0.0.1", 1), Addrinfo.tcp("127.0.0.2", 1)]) do
        deadline = Tiercel::Clock.monotonic + 30
        assert_raises(error) { Dial.each_address("name", 1, deadline) { (tried += 1) && raise(error) } }
      end
      assert_equal attempts, tried
    end
  end

  def test_a_deadline_that_is_over
    assert_raises(Errno::ETIMEDOUT) { Dial.tcp("127.0.0.1", 1, Tiercel::Clock.monotonic - 1) }
  end

  # A busy server accepts the connection a little later.
  def test_a_unix_socket_whose_queue_is_full
    with_tmpdir do |dir|
      path = "#{dir}/full.sock"
      listener = Socket.new(:UNIX, :STREAM)
      listener.bind(Addrinfo.unix(path))
      listener.listen(0)
      others = [Dial.unix(path, soon)]
      assert_raises(Errno::ETIMEDOUT) { others << Dial.unix(path, soon) while true }
      taker = Thread.new { sleep(0.05) && loop { others << listener.accept.first } }
      others << Dial.unix(path, Tiercel::Clock.monotonic + 10)
    ensure
      taker&.kill
      [listener, *others].each(&:close)
    end
  end
end
