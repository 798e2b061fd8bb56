# frozen_string_literal: true

require_relative "text"

module Tiercel
  module Lab
    module Values
      # Random bytes, which compress as badly as images, archives and encrypted data.
      class Noise < Text
        def generate(seed) = Array.new(count) { |index| Random.new(seed + index).bytes(@bytes) }
      end
    end
  end
end
