# frozen_string_literal: true

require "fileutils"
require "timeout"

# A lock between threads and processes: a file locked with `flock`, which the kernel releases when its holder dies.
# Waiting threads sleep in the kernel's queue without the GVL, at most for the time budget.
#
# Each holder opens the file anew. A lock of `flock` belongs to the open file, which a child of a fork would share with
# its parent: the child would keep the lock of a killed parent. Opening takes 3 us.
class Tiercel::FileLock
  # Raised if the lock was not acquired in time.
  class Busy < StandardError; end

  FLAGS = ::File::RDWR | ::File::CREAT | ::File::BINARY | ::File::NOFOLLOW
  # Number of attempts to create the folder, in case other programs remove it at each of them.
  OPENING_ATTEMPTS = 8
  private_constant :FLAGS, :OPENING_ATTEMPTS

  # @return [String]
  attr_reader :path

  # @param path [String]
  # @param budget_seconds [Float]
  def initialize(path, budget_seconds)
    @path = path
    @budget_seconds = budget_seconds
  end

  # Runs the block while this thread holds the lock exclusively. Calls cannot be nested.
  #
  # @param budget_seconds [Float] maximum wait in seconds
  # @yieldparam file [::File] the lock's file, open for reading and writing
  # @return [Object] the block's value
  # @raise [Busy]
  # @raise [SystemCallError]
  def hold(budget_seconds = @budget_seconds)
    give_up_at = Tiercel::Clock.monotonic + budget_seconds
    file = nil
    until file && locked?(file, give_up_at) # again if another process removed or replaced the file
      raise Busy if file && Tiercel::Clock.monotonic >= give_up_at
      file&.close
      file = open
    end
    yield file
  ensure
    Thread.handle_interrupt(Object => :never) { release(file) } if file
  end

  private

  def open
    attempts ||= 0
    FileUtils.mkdir_p(::File.dirname(@path), mode: 0o700) if attempts.positive?
    ::File.open(@path, FLAGS, 0o600)
  rescue Errno::ENOENT
    raise if (attempts += 1) > OPENING_ATTEMPTS # the folder exists but accepts no files (/proc)
    retry
  end

  # @return [Boolean] false if the locked file is no longer at the path
  def locked?(file, give_up_at)
    file.flock(::File::LOCK_EX | ::File::LOCK_NB) || wait(file, give_up_at)
    ::File.identical?(@path, file)
  rescue Errno::ESTALE # another machine removed the file from a network file system
    false
  end

  # Waits in the kernel's queue, which is fair; a polling caller could starve.
  def wait(file, give_up_at)
    remaining = give_up_at - Tiercel::Clock.monotonic
    raise Busy unless remaining.positive?
    Timeout.timeout(remaining, Busy) { file.flock(::File::LOCK_EX) }
  end

  # Unlocks first, because a child that another thread has forked concurrently shares the open file.
  def release(file)
    file.flock(::File::LOCK_UN)
    file.close
  rescue IOError, Errno::EBADF
    nil # other code has closed it
  end
end
