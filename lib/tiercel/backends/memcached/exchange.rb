# frozen_string_literal: true

require_relative "../../backend"
require_relative "../../errors"

module Tiercel
  module Backends
    class Memcached < Backend
      # An operation on many keys, under way at several servers of a ring: each
      # server's request is written, then the other servers' turn comes, then
      # its replies are read.
      #
      # A call never waits for a connection while it holds another: two calls
      # could wait for each other. A server whose connections are all in use is
      # asked when the call has given its others back.
      class Exchange
        # @param deadline [Float] of {Clock.monotonic}
        # @param write [#call] with positions of keys, connection and deadline: sends one server's request
        # @param read [#call] with the same: reads its replies
        def initialize(deadline, write, read)
          @deadline = deadline
          @write = write
          @read = read
          @failures = []
        end

        # @param groups [Array<Array(Node, Array<Integer>)>] positions of keys, by server
        # @return [Array<BackendError>] of servers that did not answer
        def run(groups)
          groups = ask(groups, wait: true) until groups.empty?
          @failures
        end

        private

        # @param wait [Boolean] whether no connection is held, so that waiting for one is harmless
        # @return [Array] the groups whose turn has not come
        def ask(groups, wait:)
          (node, at), *others = groups
          left = nil
          node.call(nil, deadline: @deadline, wait: wait) do |connection|
            @write.call(at, connection, @deadline)
            left ||= ask_others(others, wait: false)
            @read.call(at, connection, @deadline)
          end
          left
        rescue BackendError => error
          left ||= ask_others(others, wait: wait)
          return [groups.first, *left] if error.is_a?(PoolExhausted) && !wait
          @failures << error
          left
        end

        def ask_others(others, wait:) = others.empty? ? others : ask(others, wait: wait)
      end
    end
  end
end
