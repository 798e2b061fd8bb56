# frozen_string_literal: true

require_relative "text"

module Tiercel
  module Lab
    module Values
      # Rows as `pluck` or a JSON API returns them: an Array of Hashes of plain values.
      class Rows < Value
        # @param rows [Integer] number of rows in each Array
        # @param options see {Value#initialize}
        def initialize(rows:, **options)
          super(**options)
          @rows = rows
        end

        def approximate_bytes = @rows * 160

        def generate(seed)
          Array.new(count) do |index|
            random = Random.new(seed + index)
            Array.new(@rows) { |row| row(random, (index * @rows) + row) }
          end
        end

        private

        def row(random, id)
          { "id" => id, "sku" => random.rand(36**8).to_s(36), "title" => words(random, 4),
            "price" => random.rand(100_000) / 100.0, "stock" => random.rand(500), "active" => random.rand(10) > 1,
            "vendor" => words(random, 2), "rating" => (random.rand(50) / 10.0 if random.rand(5).positive?) }
        end

        def words(random, number) = Array.new(number) { Text::WORDS[random.rand(Text::WORDS.size)] }.join(" ")
      end
    end
  end
end
