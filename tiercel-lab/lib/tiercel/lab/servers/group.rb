# frozen_string_literal: true

require_relative "errors"

module Tiercel
  module Lab
    module Servers
      # Several servers that belong together.
      #
      # @abstract Subclasses fill `@nodes`, and say in `wait_until_ready` what they need beyond that all have started.
      class Group
        # @return [Array<Server>] in the order of the URL, where there is one of all
        attr_reader :nodes

        # @param options see {#initialize}
        # @yieldparam group [Group] started
        # @return [Object] the block's value; the servers are stopped after it
        def self.run(**options)
          group = new(**options).start
          yield group
        ensure
          group&.stop
        end

        # @return [self]
        # @raise [Error] if one of them does not start, or they are not ready in time; all are stopped then
        def start
          nodes.each(&:start)
          wait_until_ready
          self
        rescue Error
          stop
          raise
        end

        # Stops and starts them in their places, empty.
        #
        # @return [self]
        def restart
          each_node(:restart)
          wait_until_ready
          self
        end

        # @return [self]
        def stop
          nodes.reverse_each(&:stop)
          self
        end

        # @return [self]
        def kill = each_node(:kill)

        # @return [self]
        def pause = each_node(:pause)

        # @return [self]
        def resume = each_node(:resume)

        # @return [Array<Integer, nil>] of the nodes, in order
        def pids = nodes.map(&:pid)

        # @return [Array<Integer>] of the nodes, in order
        def ports = nodes.map(&:port)

        # @return [String] as the servers say it
        def version = nodes.first.version

        private

        def wait_until_ready = nil

        def each_node(action)
          nodes.each(&action)
          self
        end
      end
    end
  end
end
