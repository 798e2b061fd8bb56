# frozen_string_literal: true

require "prism"
require_relative "marked_text"

module Tiercel
  module Generators
    # The cache store that an environment of the application names: `config.cache_store = ...`, read without running it.
    #
    # @private
    class PresentStore
      # @param paths [Array<String>] files, the first that names a store is taken
      # @return [PresentStore, nil]
      def self.find(*paths)
        paths.each do |path|
          store = in_text(MarkedText.undone(File.read(path))) if File.file?(path)
          return store if store
        end
        nil
      end

      # @param text [String] Ruby
      # @return [PresentStore, nil]
      def self.in_text(text)
        calls = []
        visit(Prism.parse(text).value) { |call| calls << call }
        new(text, calls) unless calls.empty?
      end

      def self.visit(node, &block)
        yield node if node.is_a?(Prism::CallNode) && node.name == :cache_store= && node.arguments
        node.compact_child_nodes.each { |child| visit(child, &block) }
      end
      private_class_method :visit

      # @return [Symbol, nil] such as :redis_cache_store; nil for what is no Symbol
      attr_reader :kind
      # @return [Array<Prism::Node>] what follows, without the last Hash
      attr_reader :arguments
      # @return [Hash{Symbol => String}] the last Hash: Ruby source of the values
      attr_reader :options

      # @param text [String] the file's
      # @param calls [Array<Prism::CallNode>]
      def initialize(text, calls)
        @text = text
        @calls = calls
        first, *@arguments = values(calls.last)
        @kind = first.unescaped.to_sym if first.is_a?(Prism::SymbolNode)
        hash = @arguments.last
        hashed = hash.is_a?(Prism::HashNode) || hash.is_a?(Prism::KeywordHashNode)
        @options = hashed ? pairs(@arguments.pop) : {}
      end

      # @return [Boolean] whether whole lines can take the place of it
      def replaceable? = @calls.one? && before.strip.empty? && after.strip.match?(/\A(#.*)?\z/)

      # @param statement [String]
      # @return [String] the file's text with the statement in its place
      def replaced_by(statement)
        from = location.start_offset - before.bytesize
        upto = location.end_offset + after.bytesize
        was = @text.byteslice(from, upto - from)
        "#{@text.byteslice(0, from)}#{MarkedText.block(statement, before, was: was)}" \
          "#{@text.byteslice(upto, @text.bytesize).delete_prefix("\n")}"
      end

      private

      def location = @calls.last.location

      # What stands in the same lines.
      def before = @text.byteslice(0, location.start_offset)[/[^\n]*\z/]
      def after = @text.byteslice(location.end_offset, @text.bytesize)[/\A[^\n]*/]

      def values(call)
        argument = call.arguments.arguments.first
        argument.is_a?(Prism::ArrayNode) ? argument.elements : [argument]
      end

      def pairs(hash)
        hash.elements.grep(Prism::AssocNode).to_h do |pair|
          [pair.key.respond_to?(:unescaped) ? pair.key.unescaped.to_sym : pair.key.slice.to_sym, pair.value.slice]
        end
      end
    end
  end
end
