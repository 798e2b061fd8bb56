# frozen_string_literal: true

module Tiercel
  # A minimal fiber scheduler: fibers sleep and wait for other threads while their thread continues.
  class FiberScheduler
    # @return [Integer] how often a fiber was resumed
    attr_reader :turns

    def initialize
      @sleeping = {}
      @woken = Thread::Queue.new
      @turns = 0
    end

    def fiber(&block) = Fiber.new(blocking: false, &block).tap(&:resume)
    def kernel_sleep(seconds = nil) = block(nil, seconds) && true
    def unblock(_blocker, fiber) = @woken << fiber
    # Raises an error in a sleeping fiber.
    def interrupt(fiber, *error)
      @sleeping.delete(fiber)
      fiber.raise(*error)
    end

    def io_wait(_io, events, _timeout) = events
    def close = run

    def block(_blocker, seconds = nil)
      @sleeping[Fiber.current] = now + (seconds || 1e6)
      Fiber.yield
      true
    end

    def run
      until @sleeping.empty?
        fiber, at = @sleeping.min_by(&:last)
        woken = Fiber.new(blocking: true) { @woken.pop(timeout: [at - now, 0].max) }.resume
        fiber = woken if woken
        next unless @sleeping.delete(fiber)
        @turns += 1
        fiber.resume
      end
    end

    private

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
