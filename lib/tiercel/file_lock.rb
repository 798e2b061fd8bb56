# frozen_string_literal: true

require "timeout"

# A lock between threads and processes: a file locked with `flock`, which the kernel releases when its holder dies.
# Waiting threads sleep in the kernel's queue without the GVL, at most for the time budget.
class Tiercel::FileLock
  # Raised if the lock was not acquired in time.
  class Busy < StandardError; end

  # Number of attempts to create the folder, in case other processes remove it.
  OPENING_ATTEMPTS = 3

  # @return [String]
  attr_reader :path

  # @param path [String]
  # @param budget_seconds [Float]
  def initialize(path, budget_seconds)
    @path = path
    @budget_seconds = budget_seconds
    @mutex = Mutex.new
    @opening = Mutex.new
    Inherited.track(self)
  end

  # Runs the block while this thread holds the lock exclusively. A nested call in the same thread runs its block
  # directly.
  #
  # @param budget_seconds [Float] maximum wait in seconds
  # @yieldparam file [::File] the lock's file, open for reading and writing
  # @return [Object] the block's value
  # @raise [Busy]
  # @raise [SystemCallError]
  def hold(budget_seconds = @budget_seconds)
    return yield(@file) if @mutex.owned?
    give_up_at = Tiercel::Clock.monotonic + budget_seconds
    begin
      within(give_up_at) { @mutex.lock } unless @mutex.try_lock
      lock_file(give_up_at)
      yield @file
    ensure
      release
    end
  end

  # Only one thread may open the file: a lock acquired through one open file is not released through another.
  #
  # @return [::File] the file opened by this process, for reading and writing
  # @raise [SystemCallError]
  def file
    file = @file
    return file if file && @process == Tiercel::Forks.current
    @opening.synchronize do
      next @file if @file && @process == Tiercel::Forks.current
      drop
      opened = open
      @identity = identity(opened)
      @process = Tiercel::Forks.current
      @file = opened
    end
  end

  # @return [void]
  def close
    @mutex.synchronize { drop }
  end

  # Closes an inherited file in a child process.
  #
  # @private
  def close_inherited
    drop unless Tiercel::Forks.current?(@process)
  end

  private

  def open
    attempts ||= 0
    flags = ::File::RDWR | ::File::CREAT | ::File::BINARY | ::File::NOFOLLOW
    ::File.open(@path, flags, 0o600).tap { |file| file.sync = true }
  rescue Errno::ENOENT
    raise if (attempts += 1) > OPENING_ATTEMPTS # the folder exists but accepts no files (/proc)
    require "fileutils"
    FileUtils.mkdir_p(::File.dirname(@path), mode: 0o700)
    retry
  end

  # Clears @file first: a thread killed during the close must not leave a closed file behind. A daemon closes all
  # descriptors by number; the number may since belong to a socket, which must stay open.
  def drop
    file, @file = @file, nil
    return unless file
    identity(file) == @identity ? file.close : file.autoclose = false
  rescue IOError, Errno::EBADF
    file.autoclose = false unless file.closed?
  end

  def identity(file) = file.stat.then { |stat| [stat.dev, stat.ino] }

  # Rejects a lock on a file that was removed or replaced.
  def lock_file(give_up_at)
    loop do
      file = self.file
      return if locked?(file, give_up_at) && ::File.identical?(@path, file)
      drop
      raise Busy if Tiercel::Clock.monotonic >= give_up_at
    end
  end

  # @return [Boolean] false if another machine removed the file from a network file system, or if it was closed
  def locked?(file, give_up_at)
    file.flock(::File::LOCK_EX | ::File::LOCK_NB) || within(give_up_at) { file.flock(::File::LOCK_EX) }
    true
  rescue Errno::ESTALE, Errno::EBADF, IOError
    false
  end

  # Completes even if the caller's Timeout or Thread#kill interrupts it.
  def release
    Thread.handle_interrupt(Object => :never) do
      next unless @mutex.owned?
      begin
        unlock_file
      ensure
        @mutex.unlock
      end
    end
  end

  # Also runs if it is unknown whether the lock was acquired: another thread can raise an exception here at any time.
  def unlock_file
    @file.flock(::File::LOCK_UN) if @file && @process == Tiercel::Forks.current
  rescue Errno::EBADF, IOError
    nil # closing the file has released the lock
  end

  # Waits in the kernel's queue, which is fair; a polling caller could starve.
  def within(give_up_at, &)
    remaining = give_up_at - Tiercel::Clock.monotonic
    raise Busy unless remaining.positive?
    Timeout.timeout(remaining, Busy, &)
  end

  # Fork handler: closes lock files in the child. A lock of `flock` belongs to the open file, which a child shares
  # with its parent. A child that kept the file open would keep the lock of a killed parent.
  #
  # A child that Ruby's hook does not see (Process.daemon) opens its own files with its first call.
  module Inherited
    @locks = ObjectSpace::WeakMap.new

    class << self
      # @param lock [FileLock]
      def track(lock) = @locks[lock] = true

      # Closes all lock files of the parent in the child.
      def around_fork
        yield.tap { |pid| @locks.each_key(&:close_inherited) if pid.zero? }
      end
    end

    Tiercel::Forks.register(self)
  end
end
