# frozen_string_literal: true

require "fileutils"
require "tmpdir"
require_relative "forked_children"
require_relative "moved_clock"

module Tiercel
  # The base class of the project's tests.
  class TestCase < Minitest::Test
    # A report to ActiveSupport.error_reporter.
    Report = Struct.new(:error, :handled, :severity, :context, :source)

    # Subscriber of ActiveSupport.error_reporter.
    class ReportCollector
      # @return [Array<Report>]
      attr_reader :reports

      # @param others [Array<Thread>] threads whose reports do not count
      def initialize(others)
        @others = others
        @reports = []
      end

      def report(error, handled:, severity:, context:, source: nil, **)
        @reports << Report.new(error, handled, severity, context, source) unless @others.include?(Thread.current)
      end
    end

    PID = Process.pid
    private_constant :PID

    # Threads of one store each, which may live on after the store's test.
    STORES_THREADS = ["tiercel bus", "tiercel listener", "tiercel leases", "tiercel undelivered"].freeze
    private_constant :STORES_THREADS

    # A test below `private` would never run.
    def self.runnable_methods = super | private_instance_methods.grep(/\Atest_/).map(&:to_s)

    # If fork raises in a child, the child leaves its test and would run all remaining tests.
    def run
      exit!(1) unless Process.pid == PID
      @earlier_threads = Thread.list.select { |thread| STORES_THREADS.include?(thread.name) }
      super
    end

    # Moves Time.now inside the block; nested calls add up.
    #
    # @param seconds [Numeric] negative to go back
    # @return [Object] the block's value
    def travel(seconds, &) = MovedClock.by(seconds, &)

    # Moves Tiercel::Clock.monotonic inside the block.
    def travel_monotonic(seconds, &) = Tiercel::Contracts::MovedMonotonicClock.by(seconds, &)

    # @return [Array<Report>] reports to ActiveSupport.error_reporter during the block, without those of earlier tests'
    #   stores
    def capture_reports
      collector = ReportCollector.new(@earlier_threads)
      ActiveSupport.error_reporter.subscribe(collector)
      yield
      collector.reports
    ensure
      ActiveSupport.error_reporter.unsubscribe(collector)
    end

    # A folder of the test, removed after it. A test that forks asks for it before.
    #
    # @param parent [String, nil] where to create it
    # @return [String]
    def dir(parent = nil)
      @dir ||= Process.pid == PID ? Dir.mktmpdir("tiercel-test-", parent) : flunk("ask for the folder before the fork")
    end

    def after_teardown
      super
      FileUtils.rm_rf(@dir) if @dir # a store's thread may still write into it
    end

    # @return [Object] the block's value, without its reports
    def without_reports
      value = nil
      capture_reports { value = yield }
      value
    end

    # @return [Float] the seconds that the block took
    def seconds
      began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      yield
      Process.clock_gettime(Process::CLOCK_MONOTONIC) - began
    end

    # @yieldparam dir [String] a new directory, removed afterwards
    # @return [Object] the block's value
    def with_tmpdir
      folder = Dir.mktmpdir("tiercel-test-")
      yield folder
    ensure
      FileUtils.rm_rf(folder) if folder # a store's thread may still write into it
    end

    # Changes the environment during the block.
    #
    # @param variables [Hash{String => String, nil}]
    def with_env(variables)
      before = ENV.to_h.slice(*variables.keys)
      variables.each { |name, value| ENV[name] = value }
      yield
    ensure
      variables.each_key { |name| ENV[name] = before[name] }
    end

    # Runs the block in `count` concurrent child processes. Fails with the child's error if one raises, dies or
    # exceeds the time limit.
    #
    # @param count [Integer]
    # @param within [Numeric] seconds for all of them together
    # @yieldparam index [Integer] 0...count
    # @return [Array<Object>] the blocks' values by index; nil for a value that Marshal cannot dump
    def fork_and_wait(count, within: 60, &block)
      outcomes = ForkedChildren.new(count, within: within, &block).run
      failures = outcomes.select(&:failure)
      texts = failures.map { |outcome| "child #{outcome.index}: #{outcome.failure}" }
      assert_empty failures.map(&:index), texts.join("\n")
      outcomes.map(&:value)
    end

    # Waits for an action of another process or thread. Never wait for a TTL to expire: move the clock instead.
    #
    # @param within [Numeric] seconds; five times the expected duration
    # @return [Object] the block's first truthy value
    def wait_until(message = "what was waited for", within: 30)
      deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + within
      until (value = yield)
        flunk "#{message}: not within #{within} s" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline
        sleep 0.002
      end
      assert value
      value
    end

    # Whether a process has ended. In a container, nobody may have reaped a process whose parent is gone.
    def ended?(pid)
      Process.kill(0, pid)
      File.exist?("/proc/#{pid}/stat") && File.read("/proc/#{pid}/stat").match?(/\) Z /)
    rescue Errno::ESRCH, Errno::ENOENT
      true
    end

    # Loads a C extension for tests that call it directly.
    #
    # @param name [String] "codec" or "segment"
    def needs_extension(name)
      Tiercel::Extensions.load(name)
    end

    # @return [Boolean] whether this is `bin/test --long`
    def long? = ENV["TIERCEL_LONG"] == "1"
  end
end
