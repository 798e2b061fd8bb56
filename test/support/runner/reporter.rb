# frozen_string_literal: true

require "minitest"
require_relative "record"

module TestRunner
  # Minitest's reporter in a suite's process: prints a dot for every 25 tests and each failure immediately, and writes
  # the record for bin/test.
  class Reporter < Minitest::AbstractReporter
    TESTS_PER_DOT = 25
    DOTS_PER_LINE = 100

    def initialize(record, out)
      super()
      @record = record
      @out = out
      @count = 0
      @passed = true
    end

    def prerecord(test_class, name)
      @record.start("#{test_class}##{name}")
      @computed = processor_seconds
    end

    def record(result)
      test = "#{result.klass}##{result.name}"
      @record.result(test, outcome(result), reason: result.skipped? ? result.failure.message : nil,
                                            seconds: result.time, processor: processor_seconds - @computed)
      show(test, result) unless result.passed? || result.skipped?
      dot
    end

    def report
      @out.puts if @count >= TESTS_PER_DOT
      @out.flush
      @record.finish
    end

    def passed? = @passed

    private

    # CPU time of this process and its finished children.
    def processor_seconds = Process.times.sum

    def outcome(result)
      return "skipped" if result.skipped?
      @passed &&= result.passed?
      result.passed? ? "passed" : "failed"
    end

    def dot
      @count += 1
      return unless (@count % TESTS_PER_DOT).zero?
      @out.print(".")
      @out.puts if (@count / TESTS_PER_DOT % DOTS_PER_LINE).zero?
      @out.flush
    end

    # Prints with a single write, because several processes may share the output.
    def show(test, result)
      texts = result.failures.map do |failure|
        "#{failure.result_label}: #{test} [#{failure.location}]\n#{failure.message.gsub(/^/, "  ")}\n"
      end
      @out.print("\n#{texts.join}")
      @out.flush
    end
  end
end
