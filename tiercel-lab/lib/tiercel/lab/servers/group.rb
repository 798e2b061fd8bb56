# frozen_string_literal: true

require_relative "errors"

module Tiercel
  module Lab
    module Servers
      # Several servers that belong together.
      #
      # @abstract Subclasses fill `@nodes` and implement `wait_until_ready`, which waits for what a group needs after
      #   the start of its servers.
      class Group
        # @return [Array<Server>] in the order of the URL
        attr_reader :nodes

        # @param options see {#initialize}
        # @yieldparam group [Group] started
        # @return [Object] the block's value; the servers stop after the block
        def self.run(**options)
          group = new(**options).start
          yield group
        ensure
          group&.stop
        end

        # @return [self]
        # @raise [Error] if a server does not start, or the group is not ready in time; it then stops all servers
        def start
          nodes.each(&:start)
          wait_until_ready
          self
        rescue Error
          stop
          raise
        end

        # Stops the servers and starts them at the same addresses, without data.
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

        # @return [Array<Integer, nil>] pids of the nodes, in order
        def pids = nodes.map(&:pid)

        # @return [Array<Integer>] ports of the nodes, in order
        def ports = nodes.map(&:port)

        # @return [String] the version that the servers report
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
