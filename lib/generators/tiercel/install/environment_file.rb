# frozen_string_literal: true

require_relative "marked_text"
require_relative "current_store"

module Tiercel
  module Generators
    # Inserts statements into the text of a file in config/environments.
    #
    # @private
    class EnvironmentFile
      # @return [String] the text before the generator first changed it
      attr_reader :text

      # @param text [String]
      def initialize(text)
        @text = MarkedText.undone(text)
      end

      # @return [Array<CurrentStore>]
      def stores = @stores ||= CurrentStore.all(text)

      # @param statements [Array<String, nil>] one for each of {#stores}; nil leaves that store unchanged
      # @return [String] the new text
      def with(statements)
        stores.zip(statements).reverse.inject(text) do |changed, (store, statement)|
          next changed unless statement
          CurrentStore.all(changed)[stores.index(store)].replaced_by(statement)
        end
      end

      # @param statement [String] a statement for the end of the `configure` block
      # @return [String, nil] the new text; nil if there is no such block
      def with_appended(statement)
        ending = last_configure&.block&.closing_loc&.start_offset or return
        from = text.byteslice(0, ending).rindex("\n")
        return unless from && text.byteslice(from + 1, ending - from - 1).strip.empty?
        "#{text.byteslice(0, from + 1)}\n#{MarkedText.block(statement, "  ")}" \
          "#{text.byteslice(from + 1, text.bytesize)}"
      end

      private

      def last_configure
        Prism.parse(text).value.statements.body.reverse.find do |node|
          node.is_a?(Prism::CallNode) && node.name == :configure && node.block
        end
      end
    end
  end
end
