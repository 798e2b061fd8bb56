# frozen_string_literal: true

require_relative "marked_text"

module Tiercel
  module Generators
    # The application's test/test_helper.rb, and how its tests run in parallel.
    #
    # @private
    class TestHelperFile
      # Matches `parallelize(workers: 4, with: :threads)` on one line or several.
      THREADS = /\bparallelize\b[^\n]*(?:\n[^\n]*){0,3}?with:\s*:threads\b/
      CLASS = /^( *)class (?:::)?(?:ActiveSupport::)?TestCase\b[^;\n]*\n/
      private_constant :THREADS, :CLASS

      # @param text [String]
      # @param paths [Array<String>] paths of the application's tests
      def initialize(text, paths = [])
        @text = MarkedText.undone(text)
        @paths = paths
      end

      # @return [Boolean] whether tests run in threads of one process
      def threads? = @text.match?(THREADS) || @paths.any? { |path| File.file?(path) && File.read(path).match?(THREADS) }

      # @return [String] the text with a `clear` before each test
      def with_clear
        @text.sub(CLASS) { $& + MarkedText.block("setup { Rails.cache.clear }", "#{$1}  ") }
      end
    end
  end
end
