# frozen_string_literal: true

require_relative "../errors"
require_relative "../values"

module Tiercel
  module Lab
    module Load
      # Names and values of a load. Every process with the same parameters has the same entries.
      class Entries
        # Generated values are parts of a text of this length.
        TEXT_BYTES = 65_536

        attr_reader :names

        # @param label [String] label that is part of every name
        # @param items [Integer, nil] number of entries; nil: the number of values in `value`
        # @param bytes [Integer, nil] size of a generated value
        # @param value [String, nil] a value of {Values}, instead of generated ones
        # @param article [Boolean] whether to use the second article's value: 1,001 random digits and letters
        def initialize(label:, seed:, items: nil, bytes: nil, value: nil, article: false)
          @bytes = bytes
          @values = [figures_and_letters(seed)] if article
          @values ||= Values.fetch(value).generate(seed) if value
          @text = Values::Text.new(name: "base", title: "", bytes: TEXT_BYTES, count: 1).generate(seed).first if bytes
          # The names are shuffled, so that popular entries are no neighbours.
          @names = Array.new(items || @values.size) { |index| format("tiercel-lab:%s:%07d", label, index) }
                        .shuffle(random: Random.new(seed))
        end

        def size = names.size

        # @return [Object] generated values differ for every index
        def value(index)
          return @values[index % @values.size] if @values
          start = index % (TEXT_BYTES - @bytes)
          "#{index}:#{@text.byteslice(start, @bytes)}".byteslice(0, @bytes)
        end

        # @param found [Object] the value that was read under the name of the index
        # @raise [Missed, WrongValue]
        def check(index, found, must: true)
          raise Missed, "a read of a written name found nothing" if found.nil? && must
          return if found.nil? || found == value(index)
          raise WrongValue, "a read returned another value than the written one"
        end

        private

        # The article's script joins an Array of characters.
        def figures_and_letters(seed)
          random = Random.new(seed)
          [Array.new(1_001) { random.rand(36).to_s(36) }.join]
        end
      end
    end
  end
end
