# frozen_string_literal: true

require "json"
require_relative "child_process"

module TestRunner
  # The record of the tests in a suite's process, written line by line to a file. If the process dies, the record
  # shows the finished tests and the one that was running.
  #
  #   {"start": "FooTest#test_a"}
  #   {"result": "passed", "test": "FooTest#test_a", "seconds": 0.12, "processor": 0.1}
  #   {"end": true, "processor": 12.3}
  class Record
    # Writes the record in the suite's process.
    class Writer
      def initialize(path)
        @file = File.open(path, "a")
        @file.sync = true
      end

      def start(test) = write(start: test)

      # @param result [String] "passed", "failed" or "skipped"
      # @param reason [String, nil] the reason for a skip
      # @param seconds [Float]
      # @param processor [Float] seconds of CPU time, including its child processes
      def result(test, result, reason: nil, seconds: 0.0, processor: 0.0)
        write(test: test, result: result, reason: reason, seconds: seconds.round(3), processor: processor.round(3))
      end

      def finish = write(end: true, processor: Process.times.sum.round(1))

      private

      def write(entry) = @file.write("#{JSON.generate(entry)}\n")
    end

    # Adds the file's results to an outcome.
    #
    # @param path [String]
    # @param outcome [Outcome]
    # @param status [Process::Status, nil] the process' exit status; nil if it exceeded its time limit
    def self.read(path, outcome, status)
      running = nil
      complete = false
      File.foreach(path) do |line|
        entry = JSON.parse(line)
        running = entry["start"]
        complete ||= entry["end"]
        outcome.computed += entry["processor"] if entry["end"]
        count(entry, outcome)
        outcome.took(*entry.values_at("test", "seconds", "processor")) if entry["seconds"]
      end
      report_end(outcome, status, complete, running)
    end

    def self.count(entry, outcome)
      case entry["result"]
      when "passed" then outcome.pass
      when "failed" then outcome.fail(entry["test"])
      when "skipped" then outcome.skip(entry["test"], entry["reason"])
      end
    end
    private_class_method :count

    # Fails the suite if its process died or exited with an error.
    def self.report_end(outcome, status, complete, running)
      place = running ? " in #{running}" : ""
      if status.nil?
        outcome.fail("the suite took too long and was ended#{place}")
      elsif !complete
        outcome.fail("the suite's process ended before its tests did#{place}: #{ChildProcess.describe(status)}")
      elsif !status.success? && outcome.failures.empty?
        outcome.fail("the suite's process failed after its tests: #{ChildProcess.describe(status)}")
      end
    end
    private_class_method :report_end
  end
end
