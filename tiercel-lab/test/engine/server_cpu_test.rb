# frozen_string_literal: true

require_relative "../support/lab_case"

class ServerCPUTest < LabCase
  ServerCPU = Lab::Engine::ServerCPU

  def test_processes_that_share_the_cpus_wait_for_each_other
    skip "the kernel does not report it" unless File.exist?("/proc/self/schedstat")
    busy = Array.new(Etc.nprocessors * 2) { fork { loop { Math.sqrt(2) } } }
    wait_until { ServerCPU.delay_ns(busy) > 20_000_000 && ServerCPU.seconds(busy) > 0.02 }
    before = ServerCPU.delay_ns(busy)
    wait_until { ServerCPU.delay_ns(busy) > before }
  ensure
    busy&.each { |pid| Process.kill(:KILL, pid) }&.each { |pid| Process.wait(pid) }
  end

  def test_processes_that_have_ended
    pid = fork { exit!(true) }
    Process.wait(pid)
    assert_equal [0, 0], [ServerCPU.delay_ns([pid]), ServerCPU.delay_ns([])]
    assert_nil ServerCPU.seconds([pid])
  end
end
