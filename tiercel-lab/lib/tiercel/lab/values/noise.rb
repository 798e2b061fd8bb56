# frozen_string_literal: true

require_relative "value"

module Tiercel
  module Lab
    module Values
      # Random bytes, which compress as badly as images, archives and encrypted data.
      class Noise < Value
        # @param bytes [Integer] size of each String in bytes
        # @param options see {Value#initialize}
        def initialize(bytes:, **options)
          super(**options)
          @bytes = bytes
        end

        def approximate_bytes = @bytes

        def generate(seed) = Array.new(count) { |index| Random.new(seed + index).bytes(@bytes) }
      end
    end
  end
end
