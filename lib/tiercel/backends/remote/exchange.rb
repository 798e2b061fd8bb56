# frozen_string_literal: true

# One trip to several servers concurrently: the request goes to each server before the first response is read.
#
# A call never waits for a connection while it holds another one, because two calls could wait for each other. If
# all connections of a server are in use, the call first returns its other connections, and then asks that server.
# If a server hangs, the other servers' responses arrive before the deadline, and the call still reads them.
class Tiercel::Backends::Remote::Exchange
  # @param replies [Array<Object>] of all keys
  # @param result [Object] the result according to the replies without an error
  # @param name [String] the backend's name
  # @return [Object] the result, unless a reply is an error
  # @raise [Tiercel::BackendError] with the result, if only some of the keys have an error
  def self.result(replies, result, name)
    return result if replies.none?(Exception) # makes no object in a read of many keys
    errors = replies.grep(Exception).reject { |one| one.is_a?(Tiercel::Backends::Remote::Node::Refusal) && one.miss? }
    return result if errors.empty?
    error = errors.find { |one| !one.is_a?(Tiercel::BreakerOpen) } || errors.first
    error = error.translated(name, nil) if error.is_a?(Tiercel::Backends::Remote::Node::Refusal)
    raise error if errors.size == replies.size
    nodes = errors.grep(Tiercel::BackendError).map do |one|
      one.backend == name ? one.reason : "#{one.backend[%r{[^/]*\z}]} (#{one.reason})"
    end
    unless nodes.empty?
      error = error.class.new("#{nodes.size} of #{replies.size} keys have no answer: #{nodes.uniq.join(", ")}",
                              backend: name)
    end
    raise error.with_partial(result)
  end

  # @param deadline [Float]
  # @param each [Integer] number of replies for each index
  # @yieldparam indexes [Array<Integer>] a server's part
  # @yieldparam connection [Connection] sends the requests of these indexes
  def initialize(deadline, each: 1, &write)
    @deadline = deadline
    @each = each
    @write = write
    @failures = {}
  end

  # @param parts [Hash{Node => Array<Integer>}] the indexes of each server
  # @param replies [Array<Object>] receives for each index its reply, or its replies; or the {BackendError} of its
  #   server
  # @return [Hash{Node => BackendError}] the failures
  def run(parts, replies)
    @replies = replies
    left = parts.to_a
    left = ask(left, wait: true) until left.empty?
    @failures
  end

  private

  # @param wait [Boolean] whether the call holds no connection, so that it may wait for one
  # @return [Array] the parts that were not sent yet
  def ask(parts, wait:)
    (node, indexes), *others = parts
    left = nil
    node.call(nil, deadline: @deadline, wait: wait) do |connection|
      @write.call(indexes, connection)
      left ||= ask_others(others, wait: false)
      read(indexes, connection)
    end
    left
  rescue Tiercel::BackendError => error
    left ||= ask_others(others, wait: wait)
    return [parts.first, *left] if error.is_a?(Tiercel::PoolExhausted) && !wait
    @failures[node] = error
    indexes.each { |index| @replies[index] = error }
    left
  end

  def read(indexes, connection)
    answers = connection.read_all(indexes.size * @each, @deadline)
    indexes.each_with_index do |index, nth|
      @replies[index] = @each == 1 ? answers[nth] : answers[nth * @each, @each]
    end
  end

  def ask_others(others, wait:) = others.empty? ? others : ask(others, wait: wait)
end
