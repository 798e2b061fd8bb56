# frozen_string_literal: true
# suites: kernel
# quick

require "test_helper"
require "tiercel/segment"

class SegmentMemoryLimitsTest < Tiercel::TestCase
  Limits = Tiercel::Segment::MemoryLimits

  def test_the_limit_of_the_own_cgroup_or_of_the_container
    assert_equal 100, limit("0::/a/b\n", "a/b/memory.max" => "100")
    assert_equal 300, limit("0::/\n", "memory.max" => "300\n")
    assert_equal 100, limit("4:cpu,memory:/docker/x\n", "memory/memory.limit_in_bytes" => "100")
    assert_nil limit("4:memory:/\n", "memory/memory.limit_in_bytes" => "9223372036854771712")
  end

  def test_without_a_limit
    assert_nil limit("0::/a\n", "a/memory.max" => "max")
    assert_nil limit("1:cpu:/\n", {})
    assert_nil Limits.cgroup_bytes(root: "/nonexistent", membership: "/nonexistent")
  end

  def test_the_machines_own_memory
    total = File.read("/proc/meminfo")[/MemTotal: +(\d+) kB/, 1].to_i << 10
    assert_equal total, Limits.machine_bytes
    assert_operator Limits.bytes, :<=, total
  end

  private

  def limit(membership, files)
    with_tmpdir do |directory|
      File.write(File.join(directory, "cgroup"), membership)
      files.each do |name, text|
        path = File.join(directory, "root", name)
        FileUtils.mkdir_p(File.dirname(path))
        File.write(path, text)
      end
      Limits.cgroup_bytes(root: File.join(directory, "root"), membership: File.join(directory, "cgroup"))
    end
  end
end
