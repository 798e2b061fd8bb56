# frozen_string_literal: true

require_relative "errors"

module Tiercel
  module Lab
    # Things with a name, found by it; a wrong name is answered with the right ones.
    #
    # A module that extends it says what they are called (`noun`).
    module Catalogue
      # @param thing [#name] replaces one of the same name
      # @return [#name] the thing
      def add(thing) = entries[thing.name] = thing

      # @param name [String]
      # @return [#name]
      # @raise [UsageError] if there is none, naming those there are
      def fetch(name)
        entries.fetch(name.to_s) do
          raise UsageError, "#{noun} #{name.to_s.inspect} is not known. Known: #{names.join(", ")}"
        end
      end

      # @param name [String]
      # @return [Boolean]
      def known?(name) = entries.key?(name.to_s)

      # @return [Array<String>] in the order added
      def names = entries.keys

      # @return [Array<#name>]
      def all = entries.values

      private

      def entries = @entries ||= {}
    end
  end
end
