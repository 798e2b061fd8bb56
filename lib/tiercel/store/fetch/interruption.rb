# frozen_string_literal: true

require "timeout"

module Tiercel
  module Store
    module Fetch
      # Recognizes an error that was raised into a block from outside: by Thread#raise, Fiber#raise, or a Timeout with
      # its own error class. Such an error concerns the leader alone. An error that the block itself raises concerns all
      # waiting callers.
      #
      # Ruby does not mark such errors, so this module examines the backtrace. An error came from outside if
      #
      # - a Timeout with an error class is active around the leader's `fetch`, because it may raise any class; or
      # - the leader was in one of Ruby's waiting methods, and the error is none that such methods raise.
      #
      # If Thread#raise interrupts Ruby code that is computing, not waiting, the error counts as the block's own.
      #
      # @private
      module Interruption
        # Ruby's own methods that wait: for threads, locks, other processes, IO, and for a fiber's scheduler.
        WAITING = %w[
          sleep join value pop shift push << wait lock synchronize enter stop pass
          waitpid waitpid2 wait2 waitall system ` select wait_readable wait_writable wait_priority
          read readpartial sysread pread gets getc getbyte readline readlines readbyte readchar each_line
          write syswrite print puts flush fsync flock accept connect recv recvfrom recvmsg send sendmsg getaddrinfo
          transfer yield resume io_wait io_read io_write io_select block
        ].to_h { |name| [name, true] }.freeze
        # Errors that these methods raise themselves.
        THEIR_OWN = [SystemCallError, IOError, ThreadError, FiberError, StopIteration, ArgumentError, TypeError,
                     RangeError, EncodingError].freeze
        TIMEOUT_FILE = Timeout.method(:timeout).source_location&.first
        # The longest chain of causes to examine. Active Record, for example, wraps the errors of a block.
        MOST_CAUSES = 10
        private_constant :WAITING, :THEIR_OWN, :TIMEOUT_FILE, :MOST_CAUSES

        module_function

        # The leader calls this while it rescues the block's error.
        #
        # @param error [StandardError]
        # @return [Boolean]
        def of?(error)
          error.is_a?(Timeout::Error) || limited? || with_causes(error).any? { |each| from_outside?(each) }
        end

        # Whether a Timeout with an error class is active. A Timeout without a class has `handle_timeout` on the stack;
        # neither the block nor this code could rescue its error.
        def limited?
          frames = caller_locations.select { |at| at.path == TIMEOUT_FILE && !at.label.start_with?("block") }
          names = frames.map(&:base_label)
          names.count("timeout") > names.count("handle_timeout")
        end

        def with_causes(error)
          causes = [error]
          causes << causes.last.cause while causes.last.cause && causes.size < MOST_CAUSES
          causes
        end

        def from_outside?(error)
          place, caller = error.backtrace_locations&.first(2)
          return false unless place && WAITING[place.base_label] && rubys_own?(place, caller)
          THEIR_OWN.none? { |type| error.is_a?(type) }
        end

        # In a backtrace, a method in C has its caller's file and line.
        def rubys_own?(place, caller)
          place.path.start_with?("<internal:") || (place.path == caller&.path && place.lineno == caller.lineno)
        end
      end
    end
  end
end
