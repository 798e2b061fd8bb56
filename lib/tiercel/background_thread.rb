# frozen_string_literal: true

# A thread of this process that runs a block in the background. The thread starts on demand, and again in a forked
# child.
#
# @private
class Tiercel::BackgroundThread
  # @param again [#call] returns whether the thread runs the block once more. If not, the next {#start} starts
  #   another thread. Work that a caller added before its {#start} is never left behind
  # @yield runs in the thread
  def initialize(name, again: -> { false }, &work)
    @name = name
    @again = again
    @work = work
    @lock = Mutex.new
  end

  # Starts the thread unless it runs.
  #
  # The thread decides whether to end while it holds the lock, and a caller waits for this decision. With `try_lock`,
  # a caller could return while the thread ends, and the caller's new work would stay undone.
  #
  # @return [void]
  def start
    return if running?
    @lock.synchronize { launch unless running? }
  rescue ThreadError # a signal handler may not lock
    nil
  end

  # @return [Boolean]
  def running? = Tiercel::Forks.current?(@process) && (@thread&.alive? || false)

  # Kills the thread. Does nothing in a forked child. A thread that calls this method itself continues to its end.
  #
  # @return [void]
  def stop
    return unless Tiercel::Forks.current?(@process)
    thread = @lock.synchronize { @thread.tap { @thread = nil } }
    thread.kill.join(1) if thread && !Thread.current.equal?(thread)
  end

  private

  # Starts the thread without the caller's fiber storage, because it does not work for that caller.
  def launch
    @process = Tiercel::Forks.current
    Fiber.new(storage: {}) do
      @thread = Thread.new { run }
      @thread.name = @name
      @thread.thread_variable_set(:fork_safe, true) # Puma warns about other threads when it forks its workers
      @thread.report_on_exception = false
    end.resume
  end

  def run
    loop do
      @work.call
      @lock.synchronize do
        @thread = nil
        return unless @again.call
        @thread = Thread.current
      end
    end
  end
end
