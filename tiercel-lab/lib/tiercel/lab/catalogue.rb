# frozen_string_literal: true

require "did_you_mean"
require_relative "errors"

module Tiercel
  module Lab
    # Things with a name, found by it; a wrong name is answered with the one that was meant, or with all there are.
    #
    # A module that extends it says what they are called (`noun`).
    module Catalogue
      # Names that a message lists; more are found by `lab help`.
      LISTED = 12

      # @param thing [#name] replaces one of the same name
      # @return [#name] the thing
      def add(thing) = entries[thing.name] = thing

      # @raise [UsageError] if there is none
      def fetch(name) = entries.fetch(name.to_s) { raise UsageError, Catalogue.unknown(noun, name.to_s, shown) }

      def known?(name) = entries.key?(name.to_s)

      # @return [Array<String>] in the order added
      def names = entries.keys

      # Names that help and messages show: an internal one is found, and not offered.
      def shown = entries.values.reject { |thing| thing.respond_to?(:internal?) && thing.internal? }.map(&:name)

      def all = entries.values

      # @param known [Array<String>]
      # @return [String] a message
      def self.unknown(noun, name, known)
        meant = DidYouMean::SpellChecker.new(dictionary: known).correct(name)
        return "#{noun} #{name.inspect} is not known. Did you mean #{meant.first(3).join(", ")}?" if meant.any?
        more = known.size - LISTED
        "#{noun} #{name.inspect} is not known. Known: #{known.first(LISTED).join(", ")}" \
          "#{", and #{more} more" if more.positive?}"
      end

      private

      def entries = @entries ||= {}
    end
  end
end
