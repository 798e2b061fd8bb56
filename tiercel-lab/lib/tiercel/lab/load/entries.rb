# frozen_string_literal: true

require_relative "../errors"
require_relative "../values"

module Tiercel
  module Lab
    module Load
      # Names and values of a load: the same in every process that is given the same facts.
      class Entries
        # All values that are made here are pieces of a text of this length.
        TEXT_BYTES = 65_536

        attr_reader :names

        # @param label [String] in every name
        # @param items [Integer, nil] of values that are made here; nil: as many as `value` has
        # @param bytes [Integer, nil] of each of them
        # @param value [String, nil] name of a value of {Values}, in their place
        # @param article [Boolean] the second article's value in their place: 1,001 random figures and letters
        def initialize(label:, seed:, items: nil, bytes: nil, value: nil, article: false)
          @bytes = bytes
          @values = [figures_and_letters(seed)] if article
          @values ||= Values.fetch(value).generate(seed) if value
          @text = Values::Text.new(name: "base", title: "", bytes: TEXT_BYTES, count: 1).generate(seed).first if bytes
          # Popular entries must not be neighbours.
          @names = Array.new(items || @values.size) { |index| format("tiercel-lab:%s:%07d", label, index) }
                        .shuffle(random: Random.new(seed))
        end

        def size = names.size

        # @return [Object] different for every index where values are made here
        def value(index)
          return @values[index % @values.size] if @values
          start = index % (TEXT_BYTES - @bytes)
          "#{index}:#{@text.byteslice(start, @bytes)}".byteslice(0, @bytes)
        end

        # @param found [Object] that was read under the name of an index
        # @raise [Missed, WrongValue]
        def check(index, found, must: true)
          raise Missed, "nothing came back for what had been written" if found.nil? && must
          return if found.nil? || found == value(index)
          raise WrongValue, "something else came back than was written"
        end

        private

        # The article's script joins an Array to one String.
        def figures_and_letters(seed)
          random = Random.new(seed)
          [Array.new(1_001) { random.rand(36).to_s(36) }.join]
        end
      end
    end
  end
end
