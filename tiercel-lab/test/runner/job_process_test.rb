# frozen_string_literal: true

require_relative "../support/lab_case"
require "tiercel/lab/runner/job_process"
require "tiercel/lab/runner/resident_memory"
require "tiercel/lab/runner/server_cpu"

class JobProcessTest < LabCase
  def with_job(name)
    job = Lab::Runner::JobProcess.new(name).start
    yield job
  ensure
    job.stop
  end

  def test_an_object_in_another_process
    with_job("client/versions") do |job|
      assert_equal Gem.loaded_specs["activesupport"].version.to_s, job.call("gems")["activesupport"]
      refute_equal Process.pid, job.pid
    end
  end

  def test_what_it_raises_is_said
    with_job("workers/load") do |job|
      error = assert_raises(Lab::WorkerLost) { job.call("nothing") }
      assert_match(/NoMethodError/, error.message)
      assert_equal true, job.call("close")
    end
  end

  def test_cpu_and_memory_of_a_process
    skip "no /proc here" unless File.directory?("/proc/self")
    before = Lab::Runner::ServerCPU.seconds([Process.pid])
    sum = 0
    2_000_000.times { |index| sum += index }
    assert_operator Lab::Runner::ServerCPU.seconds([Process.pid]), :>, before
    assert_operator Lab::Runner::ResidentMemory.bytes([Process.pid]), :>, 10_000_000
    assert_includes %w[PSS RSS], Lab::Runner::ResidentMemory.kind
  end

  def test_a_process_that_is_gone_has_neither
    pid = fork { exit!(0) }
    Process.wait(pid)
    assert_nil Lab::Runner::ServerCPU.seconds([pid])
    assert_nil Lab::Runner::ResidentMemory.bytes([pid])
  end
end
