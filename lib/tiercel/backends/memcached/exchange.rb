# frozen_string_literal: true

require_relative "../../backend"
require_relative "../../errors"

module Tiercel
  module Backends
    class Memcached < Backend
      # An operation on many keys at several servers of a ring. It writes the request to each server before it reads
      # the first response, so that the servers work concurrently.
      #
      # A call never waits for a connection while it holds another: two calls could wait for each other. If all
      # connections of a server are in use, the call first returns its other connections and then asks that server.
      class Exchange
        # @param deadline [Float] a time of {Clock.monotonic}
        # @param write [#call] receives positions of keys, connection and deadline; sends one server's request
        # @param read [#call] receives the same; reads its responses
        def initialize(deadline, write, read)
          @deadline = deadline
          @write = write
          @read = read
          @failures = []
        end

        # @param groups [Array<Array(Node, Array<Integer>)>] positions of keys, by server
        # @return [Array<BackendError>] errors of servers that did not answer
        def run(groups)
          groups = ask(groups, wait: true) until groups.empty?
          @failures
        end

        private

        # @param wait [Boolean] whether the call holds no connection, so that it may wait for one
        # @return [Array] the groups that were not sent yet
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
