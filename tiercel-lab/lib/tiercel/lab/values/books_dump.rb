# frozen_string_literal: true

require_relative "books"

module Tiercel
  module Lab
    module Values
      # Marshalled Active Record objects with their associations, which the first article compresses.
      class BooksDump < Books
        def generate(seed) = super.map { |books| Marshal.dump(books) }

        def same?(expected, found) = expected == found

        def digest(objects) = super(objects.map { |bytes| Marshal.load(bytes) })
      end
    end
  end
end
