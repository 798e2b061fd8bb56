# frozen_string_literal: true

require_relative "text"

module Tiercel
  module Lab
    module Values
      # Active Record objects with loaded associations, as applications cache
      # them: Arrays of books, each with its author and three reviews, read
      # from a SQLite database in memory that is filled on the spot.
      class Books < Value
        REVIEWS = 3

        # @param books [Integer] in each Array
        # @param options see {Value#initialize}
        def initialize(books:, **options)
          super(**options)
          @books = books
        end

        def approximate_bytes = @books * 1_500

        # @raise [CannotRun] if Active Record or sqlite3 is not in the bundle
        def generate(seed)
          require_relative "books/schema"
          Schema.fill(Random.new(seed), books: @books * count, reviews: REVIEWS)
          Array.new(count) { |index| Schema.load((index * @books)...((index + 1) * @books)) }
        rescue LoadError => e
          raise CannotRun, "Active Record objects need the gems activerecord and sqlite3 in the bundle (#{e.message})"
        end

        # Records are equal when their ids are; so their content is compared.
        def same?(expected, found) = found.is_a?(Array) && content(expected) == content(found)

        # Marshalled records hold more than their content.
        def digest(objects) = Digest::SHA256.hexdigest(Marshal.dump(objects.map { |object| content(object) }))

        private

        def content(books)
          books.map do |book|
            [book.class.name, book.attributes, book.author.attributes, book.reviews.map(&:attributes)]
          end
        end
      end
    end
  end
end
