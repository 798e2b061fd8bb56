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

  # @param root [String] the mount point of cgroups
  # @param membership [String] the file that names this process' cgroups
  # @return [Integer, nil] bytes, nil without a limit
  def self.cgroup_bytes(root: CGROUP_ROOT, membership: "/proc/self/cgroup")
    limits = files(root, membership).filter_map { |file| read_limit(file) }
    limits.min
  end

  # Version 2 has a single hierarchy, and each level can lower the limit; version 1 has a separate one for memory.
  def self.files(root, membership)
    lines = ::File.readlines(membership, chomp: true)
    lines.flat_map do |line|
      _, controllers, path = line.split(":", 3)
      if controllers == ""
        ancestors(path).map { |part| ::File.join(root, part, "memory.max") }
      elsif controllers.to_s.split(",").include?("memory")
        ["", path].map { |part| ::File.join(root, "memory", part, "memory.limit_in_bytes") }
      else
        []
      end
    end
  rescue SystemCallError
    []
  end
  private_class_method :files

  def self.ancestors(path)
    parts = path.to_s.delete_prefix("/").split("/")
    (0..parts.size).map { |count| parts.first(count).join("/") }
  end
  private_class_method :ancestors

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
