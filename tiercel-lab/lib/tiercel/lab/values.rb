# frozen_string_literal: true

require_relative "catalogue"
require_relative "values/value"
require_relative "values/text"
require_relative "values/html"
require_relative "values/many_pages"
require_relative "values/many_texts"
require_relative "values/rows"
require_relative "values/books"
require_relative "values/books_dump"
require_relative "values/json_text"
require_relative "values/noise"
require_relative "values/files"
require_relative "values/sized_html"

module Tiercel
  module Lab
    # The lab's values, by name.
    #
    #   Values.fetch("html-2kb").generate(1)
    module Values
      extend Catalogue

      # Size of the largest object in the articles.
      LARGE_BYTES = 822 * 1024

      DEFAULT = %w[string-100b html-2kb html-24kb html-822kb rows-50 books].freeze
      QUICK = %w[html-2kb html-24kb rows-50 html-822kb].freeze

      add Text.new(name: "string-10b", title: "String of 10 B", bytes: 10)
      add Text.new(name: "string-100b", title: "String of 100 B", bytes: 100)
      add Text.new(name: "string-1kb", title: "String of 1 KB", bytes: 1024)
      # The values of the fifth article.
      add Text.new(name: "string-1000b", title: "String of 1,000 B", bytes: 1_000)
      add Text.new(name: "string-10000b", title: "String of 10,000 B", bytes: 10_000)
      add HTML.new(name: "html-2kb", title: "2 KB of HTML", bytes: 2048)
      add HTML.new(name: "html-822kb", title: "822 KB of HTML", bytes: LARGE_BYTES, count: 8)
      add HTML.new(name: "html-24kb", title: "A fragment of 24 KB", bytes: 24 * 1024, count: 100)
      # More entries than a loop keeps in the CPU's caches, for the targets of the memo and of pages.
      [2_000, 10_000].each { |count| add ManyTexts.new(count:) }
      add ManyPages.new(name: "html-2kb-2000", title: "2 KB of HTML, 2,000 of them", bytes: 2048, count: 2_000)
      add ManyPages.new(name: "html-24kb-500", title: "A fragment of 24 KB, 500 of them", bytes: 24 * 1024, count: 500)
      add ManyPages.new(name: "html-100kb-100", title: "100 KB of HTML, 100 of them", bytes: 102_400, count: 100)
      add ManyPages.new(name: "html-100kb-200", title: "100 KB of HTML, 200 of them", bytes: 102_400, count: 200)
      add ManyPages.new(name: "html-822kb-10", title: "822 KB of HTML, 10 of them", bytes: LARGE_BYTES, count: 10)
      add ManyPages.new(name: "html-822kb-100", title: "822 KB of HTML, 100 of them", bytes: LARGE_BYTES, count: 100)
      add ManyPages.new(name: "html-822kb-200", title: "822 KB of HTML, 200 of them", bytes: LARGE_BYTES, count: 200)
      add Rows.new(name: "rows-50", title: "50 rows (Array of Hashes)", rows: 50, count: 100)
      add Books.new(name: "books", title: "20 books (Active Record, with authors and reviews)", books: 20, count: 20)
      # The third article caches this pair: [SomeKlass.first, SomeKlass.last].
      add Books.new(name: "pair", title: "A pair of records (2 books with authors and reviews)", books: 2, count: 50)
      # The first article serializes the first value and compresses the second.
      add Books.new(name: "books-1mb", title: "500 books with random strings (1 MB marshalled when fresh)", books: 500,
                    count: 2, random_strings: true)
      add BooksDump.new(name: "books-dump-1mb", title: "1 MB of marshalled books with random strings", books: 500,
                        count: 2, random_strings: true)
      { "100b" => [100, 100], "1kb" => [1024, 100], "10kb" => [10_240, 50], "100kb" => [102_400, 10],
        "1mb" => [1_048_576, 2] }.each do |size, (bytes, count)|
        words = size.sub(/(?=[km]?b)/, " ").upcase
        add HTML.new(name: "html-#{size}", title: "#{words} of HTML", bytes:, count:)
        add JSONText.new(name: "json-#{size}", title: "#{words} of JSON", bytes:, count:)
        add Noise.new(name: "noise-#{size}", title: "#{words} that cannot be compressed", bytes:, count:)
      end

      # @param spec [Hash] a spec from {Value#to_spec}
      # @return [Value]
      def self.from_spec(spec)
        spec = spec.transform_keys(&:to_s)
        return SizedHTML.new(bytes: spec["html_bytes"]) if spec["html_bytes"]
        return ManyTexts.new(count: spec["count"]) if spec["count"]
        spec["directory"] ? Files.new(directory: spec["directory"], parse: spec["parse"]) : fetch(spec["name"])
      end

      def self.noun = "value"
    end
  end
end
