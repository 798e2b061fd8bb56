# frozen_string_literal: true

require "socket"

# Listeners on the loopback that never finish an answer.
module UnansweringPorts
  # @yieldparam port [Integer] the port of a listener whose queue is full
  def with_full_queue
    listener = Socket.new(:INET, :STREAM)
    listener.bind(Addrinfo.tcp("127.0.0.1", 0))
    listener.listen(0)
    others = Array.new(4) { Socket.new(:INET, :STREAM) }
    others.each { |other| other.connect_nonblock(listener.local_address, exception: false) }
    yield listener.local_address.ip_port
  ensure
    [listener, *others].compact.each(&:close)
  end

  # @param beginning [String] sent after the first request
  # @param piece [String] sent again and again, so that each wait for the reply is short and the reply has no end
  # @yieldparam port [Integer]
  def with_trickle(beginning, piece)
    listener = TCPServer.new("127.0.0.1", 0)
    threads = [Thread.new do
      loop { listener.accept.then { |client| threads << Thread.new { trickle(client, beginning, piece) } } }
    end]
    yield listener.addr[1]
  ensure
    threads.each(&:kill)
    listener.close
  end

  def trickle(client, beginning, piece)
    client.readpartial(1 << 16)
    client.write(beginning)
    loop { client.write(piece) && sleep(0.01) }
  rescue SystemCallError, IOError
    client.close
  end
end
