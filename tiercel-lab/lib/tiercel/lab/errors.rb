# frozen_string_literal: true

module Tiercel
  module Lab
    # Root of what the lab raises itself. It does not descend from Tiercel::Error, because a worker may run
    # in a bundle without the gem tiercel.
    class Error < StandardError; end

    # A command line that cannot be followed: exit code 2.
    class UsageError < Error; end

    # A contestant that cannot be measured here; the message is the row's reason and says what to type.
    class CannotRun < Error; end

    # A read returned nothing where a value had been written.
    class Missed < Error; end

    # A call returned something else than was written.
    class WrongValue < Error; end

    # A worker process ended or fell silent.
    class WorkerLost < Error; end
  end
end
