# frozen_string_literal: true

require_relative "../support/lab_case"

class PinningTest < LabCase
  def pinning(**) = Lab::Engine::Pinning.new(**)

  def test_workers_and_servers_apart
    pinned = pinning(cpus: [0, 1, 2, 3], taskset: true)
    refute_equal pinned.worker_cpu, pinned.server_cpu
    assert_equal ["taskset", "--cpu-list", pinned.worker_cpu.to_s], pinned.worker_prefix
  end

  def test_one_cpu_or_no_taskset_is_not_pinned
    [pinning(cpus: [0], taskset: true), pinning(cpus: [0, 1], taskset: false)].each do |loose|
      assert_empty loose.worker_prefix
      assert_equal "not pinned", loose.to_s
    end
  end

  def test_this_process_may_use_some_cpu
    skip "only Linux says so" unless File.exist?("/proc/self/status")
    assert_operator Lab::Engine::Pinning.allowed_cpus.size, :>=, 1
  end
end
