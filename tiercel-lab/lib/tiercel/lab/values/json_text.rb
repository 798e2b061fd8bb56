# frozen_string_literal: true

require "json"
require_relative "rows"

module Tiercel
  module Lab
    module Values
      # An API's answer as text: {Rows} as JSON, cut to an exact length.
      class JSONText < Rows
        # A lower bound of a row's length.
        ROW_BYTES = 100

        # @param bytes [Integer] size of each text in bytes
        # @param options see {Value#initialize}
        def initialize(bytes:, **options)
          super(rows: (bytes / ROW_BYTES) + 1, **options)
          @bytes = bytes
        end

        def approximate_bytes = @bytes

        def generate(seed) = super.map { |rows| JSON.generate(rows).byteslice(0, @bytes) }
      end
    end
  end
end
