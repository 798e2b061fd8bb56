# frozen_string_literal: true

require "prism"
require_relative "marked_text"

module Tiercel
  module Generators
    # A `config.cache_store = ...` in a file of the application, parsed without running it.
    #
    # @private
    class CurrentStore
      # Code inside one of these nodes is conditional.
      BRANCHES = [Prism::IfNode, Prism::UnlessNode, Prism::CaseNode, Prism::CaseMatchNode, Prism::AndNode,
                  Prism::OrNode, Prism::RescueModifierNode, Prism::DefNode].freeze
      private_constant :BRANCHES

      # @param text [String] Ruby
      # @return [Array<CurrentStore>] in the order of the text
      def self.all(text)
        found = []
        visit(Prism.parse(text).value, false) { |call, conditional| found << new(text, call, conditional:) }
        found
      end

      def self.visit(node, conditional, &block)
        yield node, conditional if names_store?(node)
        conditional ||= BRANCHES.include?(node.class)
        node.compact_child_nodes.each { |child| visit(child, conditional, &block) }
      end
      private_class_method :visit

      # Excludes `config.action_controller.cache_store =`, which is another setting.
      def self.names_store?(node)
        return false unless node.is_a?(Prism::CallNode) && node.name == :cache_store= && node.arguments
        receiver = node.receiver
        receiver.respond_to?(:name) && receiver.name == :config
      end
      private_class_method :names_store?

      # @return [Symbol, nil] for example :redis_cache_store; nil for an expression that is not a Symbol
      attr_reader :kind
      # @return [Array<Prism::Node>] the arguments after the kind, without the options
      attr_reader :arguments
      # @return [Hash{Symbol => String}] Ruby source of the options' values
      attr_reader :options

      # @param text [String] the text of the file
      # @param call [Prism::CallNode]
      # @param conditional [Boolean] whether the call is inside a branch
      def initialize(text, call, conditional: false)
        @text = text
        @call = call
        @conditional = conditional
        first, *@arguments = values
        @kind = first.unescaped.to_sym if first.is_a?(Prism::SymbolNode)
        hash = @arguments.last
        hashed = hash.is_a?(Prism::HashNode) || hash.is_a?(Prism::KeywordHashNode)
        @options = hashed ? pairs(@arguments.pop) : {}
      end

      # @return [Boolean] whether the call runs only under a condition
      def conditional? = @conditional

      # @return [Boolean] whether some options come from elsewhere (`**OPTIONS`), so that they cannot be listed
      def open_ended? = @open_ended

      # @return [Integer]
      def line = @call.location.start_line

      # @return [Boolean] whether its lines contain nothing else, except a trailing condition or comment
      def replaceable? = before.strip.empty? && after.strip.match?(/\A(#.*|(if|unless)\s.*)?\z/)

      # @param statement [String] begins with "config.", in place of which it gets this statement's receiver
      # @return [String] the file's text with the new statement; a trailing condition stays
      def replaced_by(statement)
        from = location.start_offset - before.bytesize
        upto = location.end_offset + after.bytesize
        was = @text.byteslice(from, upto - from)
        statement = statement.sub("config") { @call.receiver.slice }
        condition = after.match?(/\A\s*(if|unless)\s/) ? after.rstrip : ""
        "#{@text.byteslice(0, from)}#{MarkedText.block(statement + condition, before, was: was)}" \
          "#{@text.byteslice(upto, @text.bytesize).delete_prefix("\n")}"
      end

      private

      def location = @call.location

      # The code before the statement on its first line, and after it on its last line.
      def before = @text.byteslice(0, location.start_offset)[/[^\n]*\z/]
      def after = @text.byteslice(location.end_offset, @text.bytesize)[/\A[^\n]*/]

      def values
        argument = @call.arguments.arguments.first
        argument.is_a?(Prism::ArrayNode) && argument.opening != "%w[" ? argument.elements : [argument]
      end

      def pairs(hash)
        @open_ended = !hash.elements.all?(Prism::AssocNode)
        hash.elements.grep(Prism::AssocNode).to_h do |pair|
          name = pair.key.respond_to?(:unescaped) ? pair.key.unescaped : pair.key.slice
          [name.to_sym, pair.value.is_a?(Prism::ImplicitNode) ? name : pair.value.slice]
        end
      end
    end
  end
end
