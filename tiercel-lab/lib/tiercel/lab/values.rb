# frozen_string_literal: true

module Tiercel::Lab
  # Objects to cache. Every worker generates them from a seed, so the same seed gives the same workload everywhere.
  #
  # @abstract Subclasses implement {#generate}.
  class Value
    # @return [String] name on the command line ("html-2kb")
    attr_reader :name
    # @return [String] title in reports ("2 KB of HTML")
    attr_reader :title
    # @return [Integer] number of different objects, and of names
    attr_reader :count

    # @param name [String]
    # @param title [String]
    # @param count [Integer]
    def initialize(name:, title:, count: 100)
      @name = name
      @title = title
      @count = count
    end

    # @param seed [Integer]
    # @return [Array<Object>] {#count} objects, all different
    def generate(seed) = raise(NotImplementedError)

    # @param expected [Object] one of the objects of {#generate}
    # @param found [Object, nil] the object that a store returned for it
    # @return [Boolean]
    def same?(expected, found) = expected == found

    # @return [Integer] approximate size of one object's payload, for store sizes and plans
    def approximate_bytes = raise(NotImplementedError)

    # @return [Boolean] whether it is too large for calls with 100 values
    def large? = approximate_bytes > 100 * 1024

    # @param objects [Array<Object>]
    # @return [String] hexadecimal SHA-256 of the content; equal for runs with the same workload
    def digest(objects) = Digest::SHA256.hexdigest(Marshal.dump(objects))

    # @return [Hash{String => Object}] arguments for a worker to make the same value
    def to_spec = { "name" => name }

    # @return [Hash{String => Object}] the form of the results file
    def describe = { "name" => name, "title" => title, "objects" => count }
  end

  module Values
    # Strings of words with an exact length in bytes; ASCII characters, encoded as UTF-8.
    class Text < Value
      WORDS = %w[account active address amount archive author balance category checkout city colour comment
                 country currency customer delivery description discount draft email entry featured gender
                 handle image inventory invoice label locale margin member message method minimum notice offer
                 option order owner package payment period phone position price product profile public quantity
                 rating reason record region release remark return review sale season seller service shipping
                 status stock street summary supplier target tax ticket title total track unit update user
                 variant vendor version view warehouse weight window zone].freeze

      # @param bytes [Integer] size of each String in bytes
      # @param options see {Value#initialize}
      def initialize(bytes:, **options)
        super(**options)
        @bytes = bytes
      end

      def approximate_bytes = @bytes

      def generate(seed)
        Array.new(count) { |index| text(Random.new(seed + index), index) }
      end

      private

      def text(random, index)
        text = +"#{index}:"
        text << " " << WORDS[random.rand(WORDS.size)] while text.bytesize < @bytes
        text.byteslice(0, @bytes)
      end
    end

    # Random bytes, which compress as badly as images, archives and encrypted data.
    class Noise < Text
      def generate(seed) = Array.new(count) { |index| Random.new(seed + index).bytes(@bytes) }
    end

    # Pages of a shop: cards with repeating markup and varying text and numbers. zlib compresses 822 KB of them by a
    # factor of 5 to 6, as it does real pages.
    class HTML < Text
      # Shorter values have no page head. The head alone would fill them, and be the same for every seed.
      LEAST_WITH_HEAD = 256

      private

      def text(random, index)
        page = +"<!-- page #{index} -->"
        page << "<section class=\"products\" data-page=\"#{index}\">\n" unless @bytes < LEAST_WITH_HEAD
        card(page, random) while page.bytesize < @bytes
        cut = page.byteslice(0, @bytes).scrub("")
        cut << (" " * (@bytes - cut.bytesize)) # replaces a multibyte character that was cut
      end

      def card(page, random)
        id = random.rand(1_000_000)
        name = words(random, 3)
        page << "  <article class=\"product-card\" id=\"product_#{id}\" " \
                "data-sku=\"#{random.rand(36**8).to_s(36)}\">\n" \
                "    <a href=\"/products/#{id}-#{name.tr(" ", "-")}\">" \
                "<img src=\"/images/#{random.rand(36**6).to_s(36)}.webp\" alt=\"#{name}\" loading=\"lazy\"></a>\n" \
                "    <h3 class=\"title\">#{name.capitalize}</h3>\n" \
                "    <p class=\"description\">#{words(random, 8 + random.rand(16))}.</p>\n" \
                "    <span class=\"price\">€ #{random.rand(900)}.#{format("%02d", random.rand(100))}</span>\n" \
                "  </article>\n"
      end

      def words(random, number) = Array.new(number) { WORDS[random.rand(WORDS.size)] }.join(" ")
    end

    # HTML of any size.
    class SizedHTML < HTML
      UNITS = { "b" => 1, "kb" => 1024, "mb" => 1024 * 1024 }.freeze
      FORM = /\A(\d+)\s*(b|kb|mb)?\z/i
      # Maximum number of bytes of all objects of a value together.
      TOTAL_BYTES = 8 * 1024 * 1024

      # @param text [String] "300KB", "2MB", "512"
      # @return [SizedHTML]
      # @raise [UsageError]
      def self.parse(text)
        match = FORM.match(text.strip) or raise UsageError, "size #{text.inspect}: expected such as 512B, 20KB or 2MB"
        bytes = match[1].to_i * UNITS.fetch((match[2] || "b").downcase)
        raise UsageError, "size #{text.inspect}: expected at least 1 byte" unless bytes.positive?
        new(bytes:)
      end

      # @param bytes [Integer]
      def initialize(bytes:)
        size = SizedHTML.words(bytes)
        super(name: "html-#{size.delete(" ").downcase}", title: "#{size} of HTML", bytes:,
              count: (TOTAL_BYTES / bytes).clamp(2, 100))
      end

      # @return [Hash{String => Object}] includes the size, because the catalogue does not have the name
      def to_spec = super.merge("html_bytes" => @bytes)

      # @param bytes [Integer]
      # @return [String] "300 KB" for whole kilobytes
      def self.words(bytes)
        unit, factor = UNITS.to_a.reverse.find { |_unit, size| (bytes % size).zero? }
        "#{bytes / factor} #{unit.upcase}"
      end
    end

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

    # Many pages in little time: a few generated pages, each with many different beginnings, so that no two pages are
    # equal.
    class ManyPages < HTML
      MADE = 8

      def generate(seed)
        pages = Array.new(MADE) { |index| text(Random.new(seed + index), index) }
        Array.new(count) { |index| numbered(pages[index % MADE], index) }
      end

      private

      def numbered(page, index)
        cut = "<!-- #{index} -->".concat(page).byteslice(0, @bytes).scrub("")
        cut << (" " * (@bytes - cut.bytesize))
      end
    end

    # Strings of 1 KB in any number.
    class ManyTexts < Text
      BYTES = 1024

      # @param count [Integer]
      def initialize(count:)
        words = count.to_s.gsub(/(?<=\d)(?=(\d{3})+\z)/, ",")
        super(name: "string-1kb-#{count}", title: "String of 1 KB, #{words} of them", bytes: BYTES, count:)
      end

      # @return [Hash{String => Object}] includes the count, because the catalogue does not have the name
      def to_spec = super.merge("count" => count)
    end

    # The user's files: each file is a value (UTF-8 if it is valid, otherwise binary).
    class Files < Value
      # Maximum number of files; the first ones in the order of their names are used.
      MOST_FILES = 1_000
      MOST_BYTES = 64 * 1024 * 1024

      # @param directory [String]
      # @param name [String]
      # @param parse [Boolean] whether to parse files called *.json, instead of using their text
      # @raise [UsageError] if the directory has no file
      def initialize(directory:, name: "data", parse: false)
        @parse = parse ? true : false
        @directory = File.expand_path(directory)
        raise UsageError, "--data #{directory}: the folder does not exist" unless File.directory?(@directory)
        found = readable
        raise UsageError, "--data #{directory}: there is no readable file in it" if found.empty?
        @paths = within_bytes(found)
        if @paths.empty?
          raise UsageError, "--data #{directory}: #{found.first} has #{File.size(found.first)} bytes, expected " \
                            "at most #{MOST_BYTES} in all files"
        end
        super(name:, title: "#{@paths.size} #{@paths.one? ? "file" : "files"} of #{directory}", count: @paths.size)
      end

      def approximate_bytes = [@paths.sum { |path| File.size(path) } / @paths.size, 1].max

      def generate(_seed) = @paths.map { |path| read(path) }

      def to_spec = super.merge("directory" => @directory, "parse" => @parse)

      private

      def readable
        # Without a locale Ruby calls these names US-ASCII, and cannot join them with a folder in UTF-8.
        names = Dir.glob("**/*", base: @directory).each { |name| name.force_encoding(Encoding::UTF_8) }
        names.sort.map { |name| File.join(@directory, name) }
             .select { |path| File.file?(path) && File.readable?(path) }.first(MOST_FILES)
      end

      def within_bytes(paths)
        total = 0
        paths.take_while { |path| (total += File.size(path)) <= MOST_BYTES }
      end

      def read(path)
        bytes = File.binread(path)
        text = bytes.dup.force_encoding(Encoding::UTF_8)
        return bytes unless text.valid_encoding?
        @parse && path.end_with?(".json") ? JSON.parse(text) : text
      rescue JSON::ParserError => e
        raise UsageError, "--data #{path}: #{e.message.lines.first.strip}"
      end
    end

    # A placeholder: benchmarks bring their own data.
    class OwnData < Value
      def initialize = super(name: "benchmark", title: "The benchmark's own data", count: 1)

      def internal? = true

      def approximate_bytes = 1

      def generate(_seed) = ["benchmark"]
    end
  end

  # The lab's values, by name.
  #
  #   Values.fetch("html-2kb").generate(1)
  module Values
    extend Catalogue
    Tiercel::Lab.declare self, "values/books" => %i[Books BooksDump]

    # Size of the largest object in the articles.
    LARGE_BYTES = 822 * 1024

    DEFAULT = %w[string-100b html-2kb html-24kb html-822kb rows-50 books].freeze
    QUICK = %w[html-2kb html-24kb rows-50].freeze

    add OwnData.new
    add Text.new(name: "string-10b", title: "String of 10 B", bytes: 10)
    add Text.new(name: "string-100b", title: "String of 100 B", bytes: 100)
    add Text.new(name: "string-1kb", title: "String of 1 KB", bytes: 1024)
    # The values of the fifth article.
    add Text.new(name: "string-1000b", title: "String of 1,000 B", bytes: 1_000)
    add Text.new(name: "string-10000b", title: "String of 10,000 B", bytes: 10_000)
    add HTML.new(name: "html-2kb", title: "2 KB of HTML", bytes: 2048)
    add HTML.new(name: "html-822kb", title: "822 KB of HTML", bytes: LARGE_BYTES, count: 8)
    add HTML.new(name: "html-24kb", title: "A fragment of 24 KB", bytes: 24 * 1024, count: 100)
    # More entries than a loop keeps in the CPU's caches, for `cold`.
    add ManyTexts.new(count: 2_000)
    add ManyPages.new(name: "html-2kb-2000", title: "2 KB of HTML, 2,000 of them", bytes: 2048, count: 2_000)
    add ManyPages.new(name: "html-24kb-500", title: "A fragment of 24 KB, 500 of them", bytes: 24 * 1024, count: 500)
    add Rows.new(name: "rows-50", title: "50 rows (Array of Hashes)", rows: 50, count: 100)
    add Books.new(name: "books", title: "20 books (Active Record, with authors and reviews)", books: 20, count: 20)
    # The third article caches this pair: [SomeKlass.first, SomeKlass.last].
    add Books.new(name: "pair", title: "A pair of records (2 books with authors and reviews)", books: 2, count: 50)
    # The first article serializes the first value and compresses the second.
    add Books.new(name: "books-1mb", title: "150 books with random strings (1 MB marshalled when fresh)", books: 150,
                  count: 2, random_strings: true)
    add BooksDump.new(name: "books-dump-1mb", title: "1 MB of marshalled books with random strings", books: 150,
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
