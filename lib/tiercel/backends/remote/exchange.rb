# frozen_string_literal: true

# One trip to several servers concurrently: the request goes to each server before the first response is read.
#
# A call never waits for a connection while it holds another one, because two calls could wait for each other. If
# all connections of a server are in use, the call first returns its other connections, and then asks that server.
# If a server hangs, the other servers' responses arrive before the deadline, and the call still reads them.
class Tiercel::Backends::Remote::Exchange
  # @param write [#call] receives a server's part, connection and deadline; sends the request
  # @param read [#call] receives the same; reads the responses
  def initialize(deadline, write, read)
    @deadline = deadline
    @write = write
    @read = read
    @failures = {}
  end

  # @param parts [Hash{Node => Object}] for each server, the part that `write` and `read` receive
  # @return [Hash{Node => BackendError}] the failures
  def run(parts)
    left = parts.to_a
    left = ask(left, wait: true) until left.empty?
    @failures
  end

  private

  # @param wait [Boolean] whether the call holds no connection, so that it may wait for one
  # @return [Array] the parts that were not sent yet
  def ask(parts, wait:)
    (node, part), *others = parts
    left = nil
    node.call(nil, deadline: @deadline, wait: wait) do |connection|
      @write.call(part, connection, @deadline)
      left ||= ask_others(others, wait: false)
      @read.call(part, connection, @deadline)
    end
    left
  rescue Tiercel::BackendError => error
    left ||= ask_others(others, wait: wait)
    return [parts.first, *left] if error.is_a?(Tiercel::PoolExhausted) && !wait
    @failures[node] = error
    left
  end

  def ask_others(others, wait:) = others.empty? ? others : ask(others, wait: wait)
end
