# frozen_string_literal: true

require_relative "../support/lab_case"

class JobTest < LabCase
  def with_job(name)
    job = Lab::Engine::Job.new(name).start
    yield job
  ensure
    job.stop
  end

  def test_an_object_in_another_process
    with_job("engine/worker") do |job|
      assert_equal Gem.loaded_specs["activesupport"].version.to_s, job.call("hello")["gems"]["activesupport"]
      refute_equal Process.pid, job.pid
    end
  end

  def test_what_it_raises_is_said
    with_job("load/client") do |job|
      error = assert_raises(Lab::WorkerLost) { job.call("nothing") }
      assert_match(/NoMethodError/, error.message)
      assert_equal true, job.call("close")
    end
  end

  def test_the_message_of_a_worker_that_could_not_start_has_no_backtrace
    Dir.mktmpdir do |folder|
      file = File.join(folder, "late.rb")
      File.write(file, "def one = raise(\"late boom\")\ndef two = one\ndef three = two\nthree\n")
      job = Lab::Engine::Job.new("engine/worker", requires: [file]).start
      error = assert_raises(Lab::WorkerLost) { job.call("hello") }
      assert_match(/late boom \(RuntimeError\)\z/, error.message)
    ensure
      job&.stop
    end
  end

  def test_cpu_and_memory_of_a_process
    skip "no /proc here" unless File.directory?("/proc/self")
    before = Lab::Engine::ServerCPU.seconds([Process.pid])
    sum = 0
    2_000_000.times { |index| sum += index }
    assert_operator Lab::Engine::ServerCPU.seconds([Process.pid]), :>, before
    assert_operator Lab::Engine::ResidentMemory.bytes([Process.pid]), :>, 10_000_000
    assert_includes %w[PSS RSS], Lab::Engine::ResidentMemory.kind
  end

  def test_a_process_that_is_gone_has_neither
    pid = fork { exit!(0) }
    Process.wait(pid)
    assert_nil Lab::Engine::ServerCPU.seconds([pid])
    assert_nil Lab::Engine::ResidentMemory.bytes([pid])
  end
end
