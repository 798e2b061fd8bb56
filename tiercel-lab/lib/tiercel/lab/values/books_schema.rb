# frozen_string_literal: true

require "active_record"
require "sqlite3"

module Tiercel::Lab
  module Values
    class Books
      # The tables, their models, and rows that a seed determines.
      module Schema
        class Record < ActiveRecord::Base
          self.abstract_class = true
        end

        class Author < Record
          self.table_name = "authors"
          has_many :books, class_name: "Tiercel::Lab::Values::Books::Schema::Book"
        end

        class Book < Record
          self.table_name = "books"
          belongs_to :author, class_name: "Tiercel::Lab::Values::Books::Schema::Author"
          has_many :reviews, class_name: "Tiercel::Lab::Values::Books::Schema::Review"
        end

        class Review < Record
          self.table_name = "reviews"
          belongs_to :book, class_name: "Tiercel::Lab::Values::Books::Schema::Book"
        end

        # Midday of the first of January 2024, so that no row depends on the time of its creation.
        EPOCH = Time.utc(2024, 1, 1, 12)

        module_function

        # @param random [Random] decides the rows
        # @param books [Integer] number of rows
        # @param reviews [Integer] number of reviews for each book
        # @param prose [#call] generates long texts from a Random and a number of words
        # @return [void]
        def fill(random, books:, reviews:, prose: method(:words))
          create_tables
          authors = (books / 4) + 1
          Author.insert_all!(Array.new(authors) { |id| author(random, id, prose) })
          Book.insert_all!(Array.new(books) { |id| book(random, id, authors, prose) })
          Review.insert_all!(Array.new(books * reviews) { |id| review(random, id, id / reviews, prose) })
        end

        # @param ids [Range<Integer>]
        # @return [Array<Book>] with author and reviews loaded
        def load(ids) = Book.where(id: ids).order(:id).preload(:author, :reviews).to_a

        def create_tables
          Record.establish_connection(adapter: "sqlite3", database: ":memory:")
          connection = Record.connection_pool.lease_connection
          connection.create_table(:authors) { |table| table.string(:name); table.text(:biography); table.timestamps }
          connection.create_table(:books) do |table|
            table.references(:author)
            table.string(:title)
            table.string(:isbn)
            table.text(:description)
            table.decimal(:price, precision: 8, scale: 2)
            table.date(:published_on)
            table.timestamps
          end
          connection.create_table(:reviews) do |table|
            table.references(:book)
            table.integer(:stars)
            table.text(:body)
            table.timestamps
          end
        end

        def author(random, id, prose)
          stamps(random).merge(id:, name: words(random, 2), biography: prose.call(random, 30))
        end

        def book(random, id, authors, prose)
          stamps(random).merge(id:, author_id: random.rand(authors), title: words(random, 4),
                               isbn: random.rand(10**13).to_s.rjust(13, "0"), description: prose.call(random, 25),
                               price: random.rand(10_000) / 100.0, published_on: EPOCH.to_date - random.rand(9_000))
        end

        def review(random, id, book_id, prose)
          stamps(random).merge(id:, book_id:, stars: 1 + random.rand(5), body: prose.call(random, 20))
        end

        def stamps(random)
          created = EPOCH + random.rand(10_000_000)
          { created_at: created, updated_at: created + random.rand(1_000_000) }
        end

        def words(random, number) = Array.new(number) { Text::WORDS[random.rand(Text::WORDS.size)] }.join(" ")
      end
    end
  end
end
