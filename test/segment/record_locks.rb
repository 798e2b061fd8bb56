# frozen_string_literal: true

require "fcntl"

# Other processes that hold record locks on a segment's lock file, like processes that use or create the segment.
module RecordLocks
  MAKING = 0 # the byte for creating or removing the file; byte 1 + n belongs to process slot n

  # @param path [String] the lock file
  # @param first [Integer] the first byte
  # @param count [Integer] number of bytes
  # @param stopped [Boolean] whether to stop the process
  # @yieldparam pid [Integer]
  def self.held(path, first, count = 1, stopped: false)
    ready, done = IO.pipe, IO.pipe
    pid = fork do
      done[1].close
      lock(path, first, count)
      ready[1].write("x")
      done[0].read(1)
      exit!(0)
    end
    ready[0].read(1)
    stop(pid) if stopped
    yield pid
  ensure
    Process.kill(:KILL, pid)
    Process.wait(pid)
    [*ready, *done].each(&:close)
  end

  # @return [Boolean] whether this system has the struct flock that is defined here
  def self.available? = RUBY_PLATFORM.match?(/(x86_64|aarch64).*linux/)

  def self.lock(path, first, count)
    file = File.open(path, File::RDWR | File::CREAT, 0o600)
    file.fcntl(Fcntl::F_SETLK, [Fcntl::F_WRLCK, IO::SEEK_SET, first, count, 0].pack("ssx4qqlx4"))
    (@kept ||= []) << file # closing the file would release the lock
  end

  def self.stop(pid)
    Process.kill(:STOP, pid)
    Process.wait(pid, Process::WUNTRACED)
  end
  private_class_method :lock, :stop
end
