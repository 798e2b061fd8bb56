# frozen_string_literal: true

module Tiercel::Lab
  module Values
    # Active Record objects with loaded associations, as applications cache them: Arrays of books, each with its
    # author and three reviews. The objects come from a SQLite database in memory.
    class Books < Value
      REVIEWS = 3
      # Random strings like the first article's. Its payload compresses to 56 % with brotli, and to 86 % with LZ4. So
      # five sixths of the payload are characters of 5.2 bits that repeat nothing.
      CHARACTERS = [*"a".."z", *"0".."9"].freeze
      WORD_BYTES = 56

      # @param books [Integer] number of books in each Array
      # @param random_strings [Boolean] whether long texts are random characters, as in the first article, instead of
      #   words
      # @param options see {Value#initialize}
      def initialize(books:, random_strings: false, **options)
        super(**options)
        @books = books
        @random_strings = random_strings
      end

      def approximate_bytes = @books * (@random_strings ? 7_500 : 2_000)

      # @raise [CannotRun] if the bundle lacks Active Record or sqlite3
      def generate(seed)
        require_relative "books_schema"
        prose = @random_strings ? method(:random_text) : Schema.method(:words)
        Schema.fill(Random.new(seed), books: @books * count, reviews: REVIEWS, prose:)
        Array.new(count) { |index| Schema.load((index * @books)...((index + 1) * @books)) }
      rescue LoadError => e
        raise CannotRun, "Active Record objects need the gems activerecord and sqlite3 in the bundle (#{e.message})"
      end

      # Compares the content, because Active Record compares only ids.
      def same?(expected, found) = found.is_a?(Array) && content(expected) == content(found)

      # Digests the content: marshalled records contain more than that.
      def digest(objects) = Digest::SHA256.hexdigest(Marshal.dump(objects.map { |object| content(object) }))

      private

      def random_text(random, words)
        Array.new(words * WORD_BYTES) { CHARACTERS[random.rand(CHARACTERS.size)] }.join
      end

      def content(books)
        books.map do |book|
          [book.class.name, book.attributes, book.author.attributes, book.reviews.map(&:attributes)]
        end
      end
    end

    # Marshalled Active Record objects with their associations, which the first article compresses.
    class BooksDump < Books
      def generate(seed) = super.map { |books| Marshal.dump(books) }

      def same?(expected, found) = expected == found

      def digest(objects) = super(objects.map { |bytes| Marshal.load(bytes) })
    end
  end
end
