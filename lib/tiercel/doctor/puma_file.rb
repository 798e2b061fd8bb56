# frozen_string_literal: true

require "prism"

module Tiercel
  class Doctor
    # Reads the number of workers in config/puma.rb without running it.
    class PumaFile
      # @param path [String]
      # @param env [#[]] environment variables
      def initialize(path, env)
        @path = path
        @env = env
      end

      # Puma uses WEB_CONCURRENCY if the file has no `workers`.
      #
      # @return [Integer, nil] 0 for single mode; nil if the file computes the number
      def workers
        call = calls.last or return number_of(@env["WEB_CONCURRENCY"] || "0")
        value_of(call.arguments&.arguments&.first)
      end

      private

      def calls
        found = []
        visit(Prism.parse_file(@path).value) do |node|
          found << node if node.is_a?(Prism::CallNode) && node.name == :workers && node.receiver.nil?
        end
        found
      end

      def visit(node, &block)
        yield node
        node.compact_child_nodes.each { |child| visit(child, &block) }
      end

      # A number, or ENV["NAME"], ENV.fetch("NAME", 2), ENV.fetch("NAME") { 2 }, each perhaps in Integer() or to_i.
      def value_of(node)
        case node
        when Prism::IntegerNode then node.value
        when Prism::StringNode then number_of(node.unescaped)
        when Prism::SymbolNode then many(node.unescaped)
        when Prism::CallNode then value_of_call(node)
        when Prism::OrNode then value_of(node.left) || value_of(node.right)
        end
      end

      def value_of_call(node)
        first, second = node.arguments&.arguments
        return value_of(first) if node.name == :Integer
        return value_of(node.receiver) if node.name == :to_i
        return unless node.receiver.is_a?(Prism::ConstantReadNode) && node.receiver.name == :ENV
        set = first.is_a?(Prism::StringNode) ? @env[first.unescaped] : nil
        return number_of(set) if set
        value_of(second || (node.block.body&.body&.first if node.block.is_a?(Prism::BlockNode)))
      end

      def number_of(text) = many(text) || Integer(text, exception: false)

      # Puma's "auto" means one worker per processor; any number above one means the same here.
      def many(text) = (2 if text == "auto")
    end
  end
end
