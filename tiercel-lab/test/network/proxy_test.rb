# frozen_string_literal: true

require "test_helper"
require "tiercel/lab/network"
require "tiercel/lab/servers"

class ProxyTest < Tiercel::TestCase
  Network = Tiercel::Lab::Network

  # A server that answers each line with the same line and a line of digits.
  def with_echo
    server = TCPServer.new("127.0.0.1", 0)
    thread = Thread.new { loop { serve(server.accept) } }
    thread.report_on_exception = false
    yield ["127.0.0.1", server.addr[1]]
  ensure
    thread&.kill
    server&.close
  end

  def serve(socket)
    Thread.new do
      while (line = socket.gets)
        socket.write("#{line.chomp}:0123456789\n")
      end
    rescue SystemCallError, IOError
      nil
    ensure
      socket.close
    end
  end

  def with_proxy(**conditions)
    with_echo do |place|
      Network::Proxy.run(place, **conditions) do |proxy|
        socket = TCPSocket.new("127.0.0.1", proxy.port)
        socket.timeout = 30
        yield proxy, socket
      ensure
        socket&.close
      end
    end
  end

  def ask(socket, text)
    socket.puts(text)
    socket.gets
  end

  def test_a_delay_is_a_round_trip
    with_proxy(delay: 0.6) do |proxy, socket|
      ask(socket, "warm")
      assert_operator seconds { ask(socket, "a") }, :>=, 0.6
      assert_operator Network::RoundTrip.measure("127.0.0.1", proxy.port, request: "x\n", samples: 1), :>=, 0.6
      proxy.change(delay: 0.0)
      # Uses the shortest of ten: at least one of them does not wait for the CPU.
      assert_operator Array.new(10) { seconds { ask(socket, "a") } }.min, :<, 0.6
    end
  end

  def test_garble_leaves_no_byte_as_it_was
    with_proxy(garble: true) do |_, socket|
      socket.puts("a")
      reply = socket.readpartial(100)
      refute_includes reply, "\n"
      assert(reply.b.each_byte.zip("a:0123456789\n".each_byte).all? { |one, other| one != other })
    end
  end

  def test_sever_lasts_until_it_is_healed
    with_proxy(delay: 0.01) do |proxy, socket|
      ask(socket, "a")
      proxy.sever
      assert_nil socket.gets
      assert_nil TCPSocket.open("127.0.0.1", proxy.port, &:gets)
      assert_equal 0, proxy.connections
      proxy.heal
      assert_equal "b:0123456789\n", TCPSocket.open("127.0.0.1", proxy.port) { |again| ask(again, "b") }
    end
  end

  # Runs a Redis behind a proxy.
  def with_redis(**conditions)
    Tiercel::Lab::Servers::Redis.run do |server|
      Network::Proxy.run(server, **conditions) { |proxy| yield proxy, connect(proxy), connect(server) }
    end
  end

  def connect(place) = TCPSocket.new("127.0.0.1", place.port).tap { |socket| socket.timeout = 30 }

  def command(socket, text) = ask(socket, "#{text}\r")

  def test_held_replies_come_in_their_order
    with_redis do |proxy, near, far|
      proxy.change(hold: :replies)
      100.times { near.puts("INCR n\r") }
      wait_until("the requests' arrival") { command(far, "INCRBY n 0") == ":100\r\n" }
      assert_nil near.wait_readable(0)
      proxy.heal
      100.times { |number| assert_equal ":#{number + 1}\r\n", near.gets }
    end
  end

  def test_held_requests_arrive_late_and_in_their_order_though_their_client_has_gone
    with_redis do |proxy, near, far|
      assert_equal "+OK\r\n", command(near, "SET k old")
      proxy.change(hold: :requests)
      near.puts("SET k late\r", "APPEND k r\r")
      near.close
      other = connect(proxy) # accepted, and kept too
      other.puts("INCR late\r")
      assert_equal "old", value(far, "k")
      proxy.heal
      wait_until("the late write") { value(far, "k") == "later" }
      assert_equal ":1\r\n", other.gets
    end
  end

  def value(socket, key)
    command(socket, "GET #{key}")
    socket.gets.chomp
  end

  def subscribed(socket)
    socket.puts("SUBSCRIBE channel\r")
    6.times { socket.gets }
  end

  def test_one_connection_is_told_from_others_by_what_its_client_said
    with_redis do |proxy, bus, far|
      subscribed(bus)
      other = connect(proxy)
      proxy.change(hold: true, only: "Subscribe")
      assert_equal ":1\r\n", command(far, "PUBLISH channel message")
      assert_equal "+PONG\r\n", command(other, "PING")
      assert_nil bus.wait_readable(0)
      proxy.heal
      assert_includes bus.readpartial(1_000), "message"
      proxy.sever(only: "subscribe")
      assert_nil bus.gets
      assert_equal "+PONG\r\n", command(other, "PING")
      again = connect(proxy)
      assert_equal "+PONG\r\n", command(again, "PING")
      assert_nil command(again, "SUBSCRIBE channel")
      assert_equal 1, proxy.connections
      assert_equal ":0\r\n", command(far, "PUBLISH channel message")
    end
  end

  def test_it_ends_with_its_parent
    place = ["127.0.0.1", 1]
    reader, writer = IO.pipe
    parent = fork do
      writer.puts(Network::Proxy.new(place).start.pid)
      exit!(0)
    end
    Process.wait(parent)
    pid = Integer(reader.gets)
    wait_until("the relay's end") { ended?(pid) }
  ensure
    [reader, writer].each(&:close)
  end

  def test_conditions_that_cannot_be
    assert_raises(ArgumentError) { Network::Conditions.new(delay: -1) }
    error = assert_raises(ArgumentError) { Network::Conditions.new(hold: :sometimes) }
    assert_match(/hold: expected :replies, :requests, :both or false, got :sometimes/, error.message)
    assert_raises(ArgumentError) { Network::Conditions.new(only: "") }
    assert_equal :replies, Network::Conditions.new(hold: true).hold
  end
end
