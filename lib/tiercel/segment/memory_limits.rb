# frozen_string_literal: true

require "etc"

# The memory available to this process: the machine's memory, or the cgroup's limit if it is lower.
module Tiercel::Segment::MemoryLimits
  CGROUP_ROOT = "/sys/fs/cgroup"

  # @return [Integer, nil] bytes, nil if the system does not report them
  def self.bytes = [machine_bytes, cgroup_bytes].compact.min

  # @return [Integer, nil] bytes of the machine's memory, nil if the system does not report them
  def self.machine_bytes
    Etc.sysconf(Etc::SC_PHYS_PAGES) * Etc.sysconf(Etc::SC_PAGESIZE)
  rescue NameError, SystemCallError
    nil
  end

  # The files of this process's cgroup, which a container sees as the root. Limits of outer cgroups are not read.
  #
  # @param root [String] the mount point of cgroups
  # @param membership [String] the file that names this process' cgroups
  # @return [Integer, nil] bytes, nil without a limit
  def self.cgroup_bytes(root: CGROUP_ROOT, membership: "/proc/self/cgroup")
    own = ::File.file?(membership) ? ::File.read(membership)[/^0::(.*)$/, 1] : nil
    files = ["memory.max", "memory/memory.limit_in_bytes", "#{own}/memory.max"]
    files.filter_map { |file| read_limit(::File.join(root, file)) }.min
  end

  # Without a limit, version 2 contains "max" and version 1 a number near 2**63.
  def self.read_limit(file)
    text = ::File.read(file).strip
    bytes = Integer(text, 10, exception: false)
    bytes if bytes && bytes.positive? && bytes < 1 << 60
  rescue SystemCallError
    nil
  end
  private_class_method :read_limit
end
