# frozen_string_literal: true

require "fileutils"
require "timeout"

require_relative "clock"
require_relative "forks"

module Tiercel
  # A lock between threads and between processes: a file, locked with `flock`,
  # which the kernel lets go when its holder dies. Waiting is in the kernel's
  # queue, without the interpreter's lock, and ends with the budget.
  class FileLock
    # Raised when the lock could not be had in time.
    class Busy < StandardError; end

    # How often the folder is made, where others remove it.
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

    # Runs the block alone among all threads and processes. Within the block of the same thread it only runs it.
    #
    # @param budget_seconds [Float] how long to wait
    # @yieldparam file [::File] the lock's file, open for reading and writing
    # @return [Object] the block's value
    # @raise [Busy]
    # @raise [SystemCallError]
    def hold(budget_seconds = @budget_seconds)
      return yield(@file) if @mutex.owned?
      give_up_at = Clock.monotonic + budget_seconds
      begin
        within(give_up_at) { @mutex.lock } unless @mutex.try_lock
        lock_file(give_up_at)
        yield @file
      ensure
        release
      end
    end

    # @return [Boolean] whether another thread or process has it, or waits for it, at this moment
    # @raise [SystemCallError]
    def taken?
      return true unless @mutex.try_lock
      !file.flock(::File::LOCK_EX | ::File::LOCK_NB)
    ensure
      release
    end

    # One thread opens it: a lock taken on one open file is not let go through another.
    #
    # @return [::File] this process's own, open for reading and writing
    # @raise [SystemCallError]
    def file
      file = @file
      return file if file && Forks.current?(@process)
      @opening.synchronize do
        next @file if @file && Forks.current?(@process)
        drop
        opened = open
        @identity = identity(opened)
        @process = Forks.current
        @file = opened
      end
    end

    # @return [void]
    def close
      @mutex.synchronize { drop }
    end

    # Closes in a child what is its parent's.
    #
    # @private
    def close_inherited
      drop unless Forks.current?(@process)
    end

    private

    def open
      attempts ||= 0
      flags = ::File::RDWR | ::File::CREAT | ::File::BINARY | ::File::NOFOLLOW
      ::File.open(@path, flags, 0o600).tap { |file| file.sync = true }
    rescue Errno::ENOENT
      raise if (attempts += 1) > OPENING_ATTEMPTS # the folder is there, and takes no files (/proc)
      FileUtils.mkdir_p(::File.dirname(@path), mode: 0o700)
      retry
    end

    # Forgotten first: who is killed while it is being closed must not leave a closed file for the next one.
    # A daemon closes all descriptors by number, and a socket may have this number since then: that one stays open.
    def drop
      file, @file = @file, nil
      return unless file
      identity(file) == @identity ? file.close : file.autoclose = false
    rescue IOError, Errno::EBADF
      file.autoclose = false unless file.closed?
    end

    def identity(file) = file.stat.then { |stat| [stat.dev, stat.ino] }

    # A lock on a file that was removed or replaced is none.
    def lock_file(give_up_at)
      loop do
        file = self.file
        return if locked?(file, give_up_at) && ::File.identical?(@path, file)
        drop
        raise Busy if Clock.monotonic >= give_up_at
      end
    end

    # @return [Boolean] false if another machine removed the file of a network file system, or somebody closed it
    def locked?(file, give_up_at)
      file.flock(::File::LOCK_EX | ::File::LOCK_NB) || within(give_up_at) { file.flock(::File::LOCK_EX) }
      true
    rescue Errno::ESTALE, Errno::EBADF, IOError
      false
    end

    # All of it, whatever the caller's Timeout or Thread#kill does meanwhile.
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

    # Also where it is not known whether the lock was had: an exception from another thread comes at any time.
    def unlock_file
      @file.flock(::File::LOCK_UN) if @file && Forks.current?(@process)
    rescue Errno::EBADF, IOError
      nil # whoever closed it has let it go
    end

    # Waits in the kernel's queue: who asks again and again can be passed over for long.
    def within(give_up_at, &)
      remaining = give_up_at - Clock.monotonic
      raise Busy unless remaining.positive?
      Timeout.timeout(remaining, Busy, &)
    end

    # Handler of forks: closes lock files in the child. A lock of `flock` belongs
    # to the open file, which a child has in common with its parent: one that
    # kept it open would keep the lock of a parent that was killed.
    #
    # A child that Ruby does not know of (Process.daemon) opens files of its own
    # on the first call.
    module Inherited
      @locks = ObjectSpace::WeakMap.new

      class << self
        # @param lock [FileLock]
        def track(lock) = @locks[lock] = true

        # Closes in a child every lock file of its parent.
        def around_fork
          yield.tap { |pid| @locks.each_key(&:close_inherited) if pid.zero? }
        end
      end

      Forks.register(self)
    end
  end
end
