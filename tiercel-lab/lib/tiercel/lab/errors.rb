# frozen_string_literal: true

module Tiercel::Lab
  # The root of the lab's errors. The root does not descend from Tiercel::Error, because a worker's bundle may lack the
  # gem tiercel.
  class Error < StandardError; end

  # An invalid command line: exit code 2.
  class UsageError < Error; end

  # A contestant that cannot run here. The message is the row's reason, and names a command that helps.
  class CannotRun < Error; end

  # A read found nothing although a value had been written.
  class Missed < Error; end

  # A call returned another value than the written one.
  class WrongValue < Error; end

  # A worker process exited or stopped answering.
  class WorkerLost < Error; end
end
