# frozen_string_literal: true

module Tiercel::Lab
  module Serialization
    # Objects of every kind that applications cache, with checks of the loaded copy.
    module Specimens
      extend Catalogue

      # @!attribute [r] name
      #   @return [String]
      # @!attribute [r] make
      #   @return [Proc] makes the object
      # @!attribute [r] losses
      #   @return [Hash{String => Proc}] a description of each possible loss, and a Proc of the object and its copy
      #     that returns false if the loss occurred
      Specimen = Data.define(:name, :make, :losses) do
        # @param codec [#dump, #load]
        # @return [String] "kept", "refused: ERROR", or a description of the loss
        def fate(codec)
          value = make.call
          bytes = codec.dump(value)
          judge(value, codec.load(bytes))
        rescue NoMemoryError, SystemStackError, StandardError, ScriptError => e
          bytes ? "cannot be loaded: #{e.class}" : "refused: #{e.class}"
        end

        private

        def judge(value, found)
          return "comes back as #{found.nil? ? "nil" : found.class}" unless found.instance_of?(value.class)
          lost = losses.find { |_words, same| !same.call(value, found) }
          return lost.first if lost
          losses.any? || found == value ? "kept" : "comes back unequal"
        end
      end

      EQUAL = ->(value, found) { value == found }

      # These types are constants because Marshal needs their names.
      Point = Struct.new(:x, :y)
      Money = Data.define(:cents, :currency)

      class Plain
        attr_reader :word

        def initialize(word) = @word = word
        def ==(other) = other.instance_of?(Plain) && other.word == word
      end

      def self.noun = "specimen"

      # @return [void]
      def self.prepare
        require "bigdecimal"
        require "date"
        require "pathname"
        require "set"
        require "uri"
        require "active_support"
        require "active_support/time"
        require "active_support/core_ext/string/output_safety"
        require "active_support/core_ext/hash/indifferent_access"
        require "active_support/json"
        begin
          require "active_record"
        rescue LoadError
          # The rows of records then say that Active Record is missing.
        end
      end

      # @return [Object] an Active Record with two associations loaded
      def self.record
        @record ||= Values::Books.new(name: "book", title: "a book", books: 1, count: 1).generate(1).first.first
      end

      def self.put(name, losses = {}, &make) = add(Specimen.new(name:, make:, losses:))
      private_class_method :put

      put("nil") { nil }
      put("true, false") { [true, false] }
      put("Integer") { 4_711 }
      put("Integer of 70 bits") { 2**69 }
      put("Float") { 0.1 + 0.2 }
      put("NaN", "comes back as a number" => ->(_value, found) { found.nan? }) { Float::NAN }
      put("BigDecimal") { BigDecimal("12345678901234567890.12345") }
      put("Rational") { 1/3r }
      same_encoding = ->(value, found) { found.encoding == value.encoding && found == value }
      put("String in UTF-8", "another encoding" => same_encoding) { "Grüße" }
      put("binary String", "another encoding" => same_encoding) { "\xFF\x00\x80".b }
      put("String in ISO-8859-1", "another encoding" => same_encoding) do
        "Gr\xFC\xDFe".dup.force_encoding(Encoding::ISO_8859_1)
      end
      put("SafeBuffer (HTML)", "not html_safe" => ->(_value, found) { found.html_safe? }) { "<b>bold</b>".html_safe }
      put("Symbol") { :published }
      put("Hash with Symbols as keys", "keys are Strings" => ->(_value, found) { found.keys == [:id] },
          "unequal" => EQUAL) { { id: 1 } }
      put("Hash with Integers as keys", "keys are Strings" => ->(_value, found) { found.keys == [7] },
          "unequal" => EQUAL) { { 7 => "a" } }
      put("HashWithIndifferentAccess") { { id: 1 }.with_indifferent_access }
      put("Hash with a default", "without the default" => ->(_value, found) { found[:none] == 5 }) { Hash.new(5) }
      put("Set") { Set[1, 2] }
      put("Range") { 1..10 }
      put("Time in UTC", "another instant" => EQUAL, "not utc?" => ->(_value, found) { found.utc? }) do
        Time.utc(2024, 10, 20, 12, 30, 1.5)
      end
      put("Time with nanoseconds and offset", "another instant" => EQUAL,
          "another offset" => ->(value, found) { found.utc_offset == value.utc_offset }) do
        Time.new(2024, 10, 20, 12, 30, 1 + 123_456_789/1_000_000_000r, "+02:00")
      end
      put("TimeWithZone", "another instant" => EQUAL,
          "another zone" => ->(value, found) { found.time_zone == value.time_zone }) do
        Time.utc(2024, 10, 20).in_time_zone("Tokyo")
      end
      put("Duration") { ActiveSupport::Duration.build(3_600) }
      put("Date") { Date.new(2024, 10, 20) }
      put("DateTime") { DateTime.new(2024, 10, 20, 12, 30) }
      put("Struct") { Point.new(1, 2) }
      put("Data") { Money.new(cents: 100, currency: "EUR") }
      put("object of a class of one's own") { Plain.new("word") }
      put("Class") { String }
      put("Regexp") { /a+b/i }
      put("URI") { URI("https://example.org/a?b=c") }
      put("Pathname") { Pathname("a/b") }
      put("frozen Array", "not frozen" => ->(_value, found) { found.frozen? }) { [1].freeze }
      put("the same Array twice", "two Arrays" => ->(_value, found) { found[0].equal?(found[1]) }) do
        [["same"]].then { |one| [one[0], one[0]] }
      end
      put("record", "other attributes" => ->(value, found) { found.attributes == value.attributes }) { record }
      put("record's loaded association", "associations not loaded" => lambda { |value, found|
        found.association(:author).loaded? && found.reviews.loaded? && found.reviews.size == value.reviews.size
      }) { record }
      put("Proc") { proc {} }
    end

    # Sends objects of every kind through one serializer and records the results. The program runs in a process of its
    # own, because some libraries extend core classes and some crash.
    class Fidelity
      SECONDS = 20

      # @param library [Library]
      def initialize(library)
        @library = library
      end

      # @return [Hash{String => String}] "serializer", and the result for each specimen: "kept", "refused: ...", or
      #   the difference
      def to_h
        { "serializer" => @library.name }.merge(answers)
      end

      private

      # The process reports each specimen at once, so a crash leaves the earlier answers.
      def answers
        reader, writer = IO.pipe
        pid = fork { probe(reader, writer) }
        writer.close
        found = read(reader, pid)
        Process.wait(pid)
        Specimens.names.to_h { |name| [name, found.fetch(name, "ends the process")] }
      ensure
        reader&.close
      end

      def read(reader, pid)
        Timeout.timeout(SECONDS) { reader.each_line.to_h { |line| JSON.parse(line) } }
      rescue Timeout::Error
        Process.kill(:KILL, pid)
        {}
      end

      def probe(reader, writer)
        reader.close
        $stderr.reopen(File::NULL)
        Specimens.prepare
        codec = @library.build
        Specimens.all.each { |specimen| writer.puts(JSON.generate([specimen.name, specimen.fate(codec)])) }
      rescue StandardError => e
        Specimens.names.each { |name| writer.puts(JSON.generate([name, "not installed: #{e.message}"])) }
      ensure
        writer.close
        exit!(0)
      end
    end
  end
end
