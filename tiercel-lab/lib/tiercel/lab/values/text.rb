# frozen_string_literal: true

require_relative "value"

module Tiercel
  module Lab
    module Values
      # Strings of words with an exact length in bytes; ASCII characters, encoded as UTF-8.
      class Text < Value
        WORDS = %w[account active address amount archive author balance category checkout city colour comment
                   country currency customer delivery description discount draft email entry featured gender
                   handle image inventory invoice label locale margin member message method minimum notice offer
                   option order owner package payment period phone position price product profile public quantity
                   rating reason record region release remark return review sale season seller service shipping
                   status stock street summary supplier target tax ticket title total track unit update user
                   variant vendor version view warehouse weight window zone].freeze

        # @param bytes [Integer] size of each String in bytes
        # @param options see {Value#initialize}
        def initialize(bytes:, **options)
          super(**options)
          @bytes = bytes
        end

        def approximate_bytes = @bytes

        def generate(seed)
          Array.new(count) { |index| text(Random.new(seed + index), index) }
        end

        private

        def text(random, index)
          text = +"#{index}:"
          text << " " << WORDS[random.rand(WORDS.size)] while text.bytesize < @bytes
          text.byteslice(0, @bytes)
        end
      end
    end
  end
end
