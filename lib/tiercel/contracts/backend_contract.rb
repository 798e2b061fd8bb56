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
    # The tests that every backend passes: bytes and their ends, atomic steps, leases and tags over it. A store over a
    # backend that passes keeps the promises of docs/fetch.md and docs/tags.md. Include the module in a Minitest class:
    #
    #   class MyBackendTest < Minitest::Test
    #     include Tiercel::Contracts::BackendContract
    #
    #     # a backend without entries
    #     def build_backend = MyBackend.new(...)
    #
    #     # another one on the same data, as another process would have it; nil where there is no such thing
    #     def build_peer = MyBackend.new(...)
    #   end
    #
    # `backend` is built on first use and closed after each test. A backend that
    # loses entries on purpose (a null backend) has nothing to pass here.
    module BackendContract
      include Values
      include Expiry
      include Atomicity
      include Claims
      include Leasing
      include Tagging

      # Processes in the tests of atomicity.
      PROCESSES = 8

      # From the beginning of one round of {#in_rounds} to that of the next (seconds).
      ROUND = 0.005

      # @return [Backend] the one under test
      def backend = @backend ||= build_backend

      # @return [Backend, nil] see {BackendContract}
      def build_peer = nil

      # @return [Integer] bytes of a value that the backend is expected to hold
      def large_value_bytes = 512 * 1024

      def after_teardown
        @backend&.close
        @backend = nil
        super
      end

      private

      # Moves `Time.now` for the block. A remote backend has a clock of its own, so there time has to pass.
      def later(seconds, &)
        backend.remote? ? remote_later(seconds, &) : MovedClock.by(seconds, &)
      end

      def remote_later(seconds)
        Kernel.sleep(seconds + 0.1)
        yield
      end

      # Runs the block in processes of their own, each with a peer; gives what the blocks returned.
      def in_processes(count = PROCESSES)
        readers = Array.new(count) do |index|
          reader, writer = IO.pipe(binmode: true)
          pid = fork do
            reader.close
            answer = begin
              [:ok, yield(build_peer || backend, index)]
            rescue Exception => error # rubocop:disable Lint/RescueException
              [:error, "#{error.class}: #{error.message}\n#{error.backtrace.first(5).join("\n")}"]
            end
            writer.write(Marshal.dump(answer))
            writer.close
            exit!(0)
          end
          writer.close
          [pid, reader]
        end
        readers.map { |pid, reader| answer_of(pid, reader) }
      end

      # The same again and again, all processes at the same time.
      #
      # @return [Array<Array<Object>>] what the blocks returned, by round
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

      def answer_of(pid, reader)
        bytes = reader.read
        Process.wait(pid)
        reader.close
        status, answer = bytes.empty? ? [:error, "process #{pid} ended without an answer"] : Marshal.load(bytes)
        flunk(answer) if status == :error
        answer
      end

      # Skips a test that several processes are needed for.
      def needs_processes
        skip "#{backend} belongs to one process" unless build_peer
      end
    end
  end
end
