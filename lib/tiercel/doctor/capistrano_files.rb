# frozen_string_literal: true

require "prism"

module Tiercel
  class Doctor
    # Finds the hosts in Capistrano's files for a stage without running them: `server "web1"` and `role :app, %w[web1
    # web2]`.
    class CapistranoFiles
      # @param folder [String] config/deploy
      def initialize(folder)
        @folder = folder
      end

      # @param stage [String] for example "production"
      # @return [Array<String>] hosts without users and ports; empty if the file computes them
      def hosts(stage)
        path = ::File.join(@folder, "#{stage}.rb")
        return [] unless ::File.file?(path)
        calls(Prism.parse_file(path).value).flat_map { |call| texts(call) }
                                           .map { |host| host.sub(/\A.*@/, "").sub(/:\d+\z/, "") }.uniq
      end

      private

      def calls(node, found = [])
        named = node.is_a?(Prism::CallNode) && node.receiver.nil? && %i[server role].include?(node.name)
        found << node if named
        node.compact_child_nodes.each { |child| calls(child, found) } unless named
        found
      end

      # For a server, options follow the host; for a role, the name precedes the hosts.
      def texts(call)
        first, second = call.arguments&.arguments
        strings(call.name == :server ? first : second)
      end

      def strings(node)
        case node
        when Prism::StringNode then [node.unescaped]
        when Prism::ArrayNode then node.elements.flat_map { |element| strings(element) }
        else []
        end
      end
    end
  end
end
