# frozen_string_literal: true

require "socket"

# A load balancer that sends new connections to another server and leaves existing ones unchanged.
class MovingProxy
  # @yieldreturn [Integer] the port on 127.0.0.1 for the next connection
  def initialize(&target)
    @target = target
    @server = TCPServer.new("127.0.0.1", 0)
    @sockets = []
    @threads = [Thread.new { loop { accept } }]
  end

  def url = "redis://127.0.0.1:#{@server.addr[1]}/0"

  def stop
    @threads.each(&:kill).each(&:join)
    [@server, *@sockets].each(&:close)
  end

  private

  def accept
    client = @server.accept
    @sockets.push(client, behind = TCPSocket.new("127.0.0.1", @target.call))
    [[client, behind], [behind, client]].each { |from, to| @threads << Thread.new { pass(from, to) } }
  end

  def pass(from, to)
    loop { hand_on(from.readpartial(65_536), from, to) }
  rescue IOError, SystemCallError
    [from, to].each(&:close)
  end

  def hand_on(bytes, _from, to) = to.write(bytes)
end
