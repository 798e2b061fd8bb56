# frozen_string_literal: true

require "did_you_mean"

module Tiercel::Lab
  # Finds objects by name. For an unknown name its message suggests a similar name, or lists all.
  #
  # A module that extends it implements `noun`, the word for its objects.
  module Catalogue
    # Maximum number of names in a message; `lab help` lists all.
    LISTED = 12

    # @param thing [#name] replaces an object with the same name
    # @return [#name] the object
    def add(thing) = entries[thing.name] = thing

    # @raise [UsageError] if the name is unknown
    def fetch(name) = entries.fetch(name.to_s) { raise UsageError, Catalogue.unknown(noun, name.to_s, shown) }

    def known?(name) = entries.key?(name.to_s)

    # @return [Array<String>] in the order of declaration
    def names = entries.keys

    # Names for help and messages. An internal object can be fetched, but is not listed.
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
