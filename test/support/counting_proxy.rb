# frozen_string_literal: true

require "socket"

# A proxy that counts the round trips between a client and a server. A round trip begins when the client sends after
# the server has sent. All connections count together.
class CountingProxy
  # @return [Integer] the port on the loopback interface
  attr_reader :port
  # @return [Integer] round trips so far
  attr_reader :trips

  # @param port [Integer] the server's port
  # @param gate [#asked, #answers, nil] called when a client sends after its server has sent, and when the server
  #   answers; it may wait
  def initialize(port, gate: nil)
    @server_port = port
    @gate = gate
    @listener = TCPServer.new("127.0.0.1", 0)
    @port = @listener.addr[1]
    @trips = 0
    @lock = Mutex.new
    @threads = [Thread.new { accept }]
  end

  # @return [Integer] number of round trips during the block
  def count
    before = @lock.synchronize { @trips }
    yield
    @lock.synchronize { @trips } - before
  end

  # @return [void]
  def close
    @listener.close
    @threads.each(&:kill).each(&:join)
  end

  private

  def accept
    loop do
      client = @listener.accept
      @threads << Thread.new { pass(client, TCPSocket.new("127.0.0.1", @server_port)) }
    end
  rescue IOError, SystemCallError
    nil # the listener is closed
  end

  def pass(client, server)
    asked = false
    loop do
      ready, = IO.select([client, server])
      if ready.include?(client)
        bytes = client.readpartial(1 << 20)
        unless asked
          @lock.synchronize { @trips += 1 }
          @gate&.asked(self)
        end
        asked = true
        server.write(bytes)
      else
        bytes = server.readpartial(1 << 20)
        @gate&.answers(self) if asked
        asked = false
        client.write(bytes)
      end
    end
  rescue IOError, SystemCallError
    nil # one side closed its connection
  ensure
    [client, server].each(&:close)
  end
end
