# frozen_string_literal: true

require "tiercel"
require_relative "moved_clock"
require_relative "backend_contract/atomicity"
require_relative "backend_contract/claims"
require_relative "backend_contract/expiry"
require_relative "backend_contract/leasing"
require_relative "backend_contract/tagging"
require_relative "backend_contract/values"

module Tiercel
  module Contracts
    # The tests that every backend must pass: bytes and their expiry, atomic operations, leases and tags. A store over
    # such a backend keeps the guarantees of docs/fetch.md and docs/tags.md. Include the module in a test class:
    #
    #   class MyBackendTest < Tiercel::TestCase
    #     include Tiercel::Contracts::BackendContract
    #
    #     # returns a backend without entries
    #     def build_backend = MyBackend.new(...)
    #
    #     # returns another backend over the same data, as another process would open it; nil if there is none
    #     def build_peer = MyBackend.new(...)
    #   end
    #
    # `backend` is built on first use and closed after each test. A backend that loses entries on purpose (a null
    # backend) cannot pass these tests.
    module BackendContract
      include Values
      include Expiry
      include Atomicity
      include Claims
      include Leasing
      include Tagging

      # Number of processes in the atomicity tests.
      PROCESSES = 8

      # Seconds between the starts of two rounds in {#in_rounds}.
      ROUND = 0.005

      # @return [Backend] the backend under test
      def backend = @backend ||= build_backend

      # @return [Backend, nil] see {BackendContract}
      def build_peer = nil

      # @return [Integer] size of a value that the backend must be able to store
      def large_value_bytes = 512 * 1024

      def after_teardown
        @backend&.close
        @backend = nil
        super
      end

      private

      # Moves `Time.now` during the block. A remote backend has its own clock, so the test sleeps instead.
      def later(seconds, &)
        backend.remote? ? remote_later(seconds, &) : MovedClock.by(seconds, &)
      end

      def remote_later(seconds)
        Kernel.sleep(seconds + 0.1)
        yield
      end

      # Runs the block in several processes, each with its own peer, and returns the blocks' results.
      def in_processes(count = PROCESSES) = fork_and_wait(count) { |index| yield(build_peer || backend, index) }

      # Runs the block repeatedly, in all processes at the same time.
      #
      # @return [Array<Array<Object>>] the blocks' results, by round
      def in_rounds(rounds = 40)
        begins = Clock.monotonic + 0.1
        answers = in_processes do |peer, index|
          Array.new(rounds) do |round|
            Kernel.sleep([begins + (round * ROUND) - Clock.monotonic, 0].max)
            yield peer, index, round
          end
        end
        answers.transpose
      end

      # @return [Boolean] whether a token is of one write, and not of the bytes alone
      def versions? = true

      def needs_versions = versions? || skip("a token is the bytes")

      # Skips a test that needs several processes.
      def needs_processes
        skip "#{backend} belongs to one process" unless build_peer
      end
    end
  end
end
