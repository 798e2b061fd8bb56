# frozen_string_literal: true

module TestRunner
  # The outcome of one suite.
  class Outcome
    # @return [String] the suite's name
    attr_reader :suite
    # @return [Integer]
    attr_reader :passed
    # @return [Array<String>] names of the failed tests, and other failures
    attr_reader :failures
    # @return [Array<Array(String, String)>] test and reason
    attr_reader :skips
    # @return [Float] seconds; seconds of CPU time of the suite's processes and their children
    attr_accessor :seconds, :computed

    def initialize(suite)
      @suite = suite
      @passed = 0
      @failures = []
      @skips = []
      @times = []
      @seconds = @computed = 0.0
    end

    def pass = @passed += 1

    def fail(what) = @failures << what

    def skip(test, reason) = @skips << [test, reason]

    # @param test [String]
    # @param seconds [Float]
    # @param processor [Float] seconds of CPU time
    def took(test, seconds, processor) = @times << [test, seconds, processor]

    # @param count [Integer] maximum number of lines
    # @return [Array<String>] a line for each of the slowest tests, the slowest first
    def slowest_lines(count)
      @times.max_by(count) { |_, seconds,| seconds }.map do |test, seconds, processor|
        format("%8.2f s, computing %6.2f s: %s", seconds, processor, test)
      end
    end

    # @return [Array<String>] a line for each test class, the dearest first: seconds, seconds of CPU, tests
    def price_lines
      classes = @times.group_by { |test,| test[/\A.*(?=#)/] }.map do |name, times|
        [name, times.sum { |_, seconds,| seconds }, times.sum { |_, _, processor| processor }, times.size]
      end
      classes.sort_by { |_, seconds,| -seconds }.map do |name, *figures|
        format("%8.2f s, computing %7.2f s, %5d tests: %s", *figures, name)
      end
    end

    # @return [Array<String>] a line for each reason to skip, the most frequent first; reasons that differ only in a
    #   path count as one
    def skip_lines
      alike = skips.group_by { |_, reason| reason.gsub(%r{/\S+}, "/") }.values
      alike.sort_by { |group| -group.size }.map do |group|
        test, reason = group.first
        "skipped: #{reason} (#{test}#{" and #{group.size - 1} more" if group.size > 1})"
      end
    end

    # @return [Integer] number of tests that ran or were skipped
    def count = passed + failures.size + skips.size

    # @return [Boolean] whether a test ran; a skip does not count
    def executed? = passed.positive? || failures.any?

    # @return [String] a text that differs from the closing line
    def to_s
      parts = ["#{passed} of #{count} passed"]
      parts << "#{skips.size} skipped" if skips.any?
      parts << "#{failures.size} FAILED" if failures.any?
      format("%s: %s (%.1f s, computing %.1f s)", suite, parts.join(", "), seconds, computed)
    end
  end
end
