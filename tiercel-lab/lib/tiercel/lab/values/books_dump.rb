# frozen_string_literal: true

require_relative "books"

module Tiercel
  module Lab
    module Values
      # The bytes that Marshal makes of Active Record objects with their associations, the long texts being random
      # characters, as in the first article: they leave a compressor little more than what Marshal repeats.
      class BooksDump < Value
        CHARACTERS = [*"a".."z", *"A".."Z", *"0".."9"].freeze
        # A word and the blank behind it, of the lab's other texts.
        WORD_BYTES = 7

        # @param books [Integer] in each dump
        # @param options see {Value#initialize}
        def initialize(books:, **options)
          super(**options)
          @books = books
        end

        def approximate_bytes = @books * 2_050

        # @raise [CannotRun] if Active Record or sqlite3 is not in the bundle
        def generate(seed)
          require_relative "books/schema"
          Books::Schema.fill(Random.new(seed), books: @books * count, reviews: Books::REVIEWS, prose: method(:random_text))
          Array.new(count) { |index| Marshal.dump(Books::Schema.load((index * @books)...((index + 1) * @books))) }
        rescue LoadError => e
          raise CannotRun, "Active Record objects need the gems activerecord and sqlite3 in the bundle (#{e.message})"
        end

        private

        def random_text(random, words)
          Array.new(words * WORD_BYTES) { CHARACTERS[random.rand(CHARACTERS.size)] }.join
        end
      end
    end
  end
end
