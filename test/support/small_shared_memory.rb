# frozen_string_literal: true

# A /dev/shm of a chosen size, visible to processes that are started with {prefix}. Needs root, and a kernel that
# allows namespaces.
module SmallSharedMemory
  class << self
    # @return [Boolean]
    def available?
      return @available if defined?(@available)
      @available = Process.uid.zero? &&
                   system("unshare", "-m", "mount", "-t", "tmpfs", "-o", "size=1m", "tiercel-test", "/dev/shm",
                          out: File::NULL, err: File::NULL)
    rescue Errno::ENOENT
      @available = false
    end

    # @param size [String] a size in the format of tmpfs ("64m")
    # @yieldparam prefix [Array<String>] a command prefix for processes that should see it
    def open(size)
      input, output = IO.pipe
      pid = Process.spawn("unshare", "-m", "sh", "-c",
                          'mount -t tmpfs -o size="$0" tiercel-test /dev/shm && echo ready && exec sleep 600', size,
                          out: output, pgroup: true)
      output.close
      raise "cannot mount a tmpfs of #{size} on /dev/shm" unless input.gets
      yield ["nsenter", "--target", pid.to_s, "--mount", "--"]
    ensure
      input&.close
      Process.kill(:KILL, pid) && Process.wait(pid) if pid
    end
  end
end
