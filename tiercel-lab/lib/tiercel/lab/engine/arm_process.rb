# frozen_string_literal: true

require_relative "../errors"

module Tiercel
  module Lab
    module Engine
      # A process forked from the worker for one arm. The heap of a process holds the objects of one store only, so an
      # arm pays for the collection of its own objects and never for those of another arm. Forks of one worker share
      # its addresses and hash seed, which keeps the arms of a round comparable.
      class ArmProcess
        # @param inherited [Array<IO>] pipes of the worker and of other arms; the new process closes them, so that each
        #   pipe ends when its owner does
        # @yieldreturn [Object] the object in the new process that {#call} calls
        def initialize(inherited)
          requests, @requests = IO.pipe(binmode: true)
          @answers, answers = IO.pipe(binmode: true)
          @pid = fork do
            [@requests, @answers, *inherited].each(&:close)
            serve(yield, requests, answers)
          end
          [requests, answers].each(&:close)
        end

        # @return [Array<IO>]
        def pipes = [@requests, @answers]

        # @return [Object] the method's value
        # @raise [WorkerLost] if the process ended, or the method raised
        def call(method, *arguments)
          Marshal.dump([method, arguments], @requests)
          state, answer = Marshal.load(@answers) # rubocop:disable Security/MarshalLoad
          raise WorkerLost, answer if state == :raised
          answer
        rescue EOFError, Errno::EPIPE
          raise WorkerLost, "the worker #{ended}"
        end

        # @return [void]
        def stop
          pipes.each { |pipe| pipe.close unless pipe.closed? }
          ended
        end

        private

        def serve(object, requests, answers)
          until requests.eof?
            method, arguments = Marshal.load(requests) # rubocop:disable Security/MarshalLoad
            Marshal.dump(answer(object, method, arguments), answers)
          end
        rescue Errno::EPIPE
          nil # the worker has ended while this process was busy
        end

        def answer(object, method, arguments)
          [:returned, object.public_send(method, *arguments)]
        rescue StandardError, NotImplementedError => e
          [:raised, "#{e.class}: #{e.message} (#{e.backtrace&.first})"]
        end

        # Waits until the process ends.
        def ended
          @status ||= Process.wait2(@pid).last
          @status.signaled? ? "ended by signal #{@status.termsig}" : "ended"
        end
      end
    end
  end
end
