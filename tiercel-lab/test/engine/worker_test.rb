# frozen_string_literal: true

require_relative "../support/lab_case"

class WorkerTest < LabCase
  def worker(**)
    process = Lab::Engine::Job.new("engine/worker", requires: [PLANTED], **).start
    yield process
  ensure
    process&.stop
  end

  def open_request(*texts)
    arms = texts.each_with_index.map { |text, id| { id:, text:, operation: "read", exact: true } }
    { value: { name: "string-100b" }, seed: 1, slice_ns: 500_000, label: "t", servers: {}, folders: {}, arms: }
  end

  def test_values_are_looked_at_again_after_the_blocks
    request = open_request("planted_tiring")
    request[:arms].first.update(warm_up: 10, calls: 10, exact: false)
    worker do |process|
      assert_equal "measured", process.call("open", **request)["arms"].first["status"]
      process.call("pass", arms: [[0, 100]])
      assert_equal ["wrong values"], process.call("close").map { |arm| arm["status"] }
    end
  end

  def test_a_quick_run_touches_it_in_stores_inside_the_process_only
    quick = Lab::Engine::Protocol::QUICK
    assert_operator quick.garbage_bytes(:process), :>, 0
    assert_equal [0], %i[disk loopback remote].map { |medium| quick.garbage_bytes(medium) }.uniq
  end

  def test_a_worker_that_is_killed_leaves_no_arm
    worker do |process|
      process.call("open", **open_request("memory_store", "null_store"))
      arms = Dir["/proc/[0-9]*/stat"].filter_map do |path|
        fields = File.read(path).split rescue next
        fields.first.to_i if fields[3].to_i == process.pid
      end
      assert_equal 2, arms.size
      Process.kill(:KILL, process.pid)
      assert_raises(Lab::WorkerLost) { process.call("hello") }
      wait_until("the arms' end") { arms.all? { |pid| ended?(pid) } }
    end
  end

  def test_a_worker_that_is_silent_is_ended
    worker do |process|
      process.call("hello")
      process.instance_variable_set(:@answer_seconds, 2) # it has begun, however long that took
      Process.kill(:STOP, process.pid)
      error = assert_raises(Lab::WorkerLost) { process.call("hello") }
      assert_match(/did not answer within 2 s/, error.message)
    end
  end

  def test_an_arm_that_hangs_is_ended
    arm = Lab::Engine::ArmProcess.new([], seconds: 0.1) { Class.new { def wait = sleep }.new }
    assert_match(/did not answer within 0.1 s/, assert_raises(Lab::WorkerLost) { arm.call(:wait) }.message)
    assert_match(/ended by signal 9/, assert_raises(Lab::WorkerLost) { arm.call(:wait) }.message)
    arm.stop
  end

  def test_a_folder_and_a_file_of_any_name_without_a_locale
    folder = File.join(dir, "d\u00e4t\u00e4").tap { |path| FileUtils.mkdir_p(path) }
    File.write(File.join(folder, "fr\u00fch.txt"), "text")
    request = open_request("memory_store").merge(value: Lab::Values::Files.new(directory: folder).to_spec)
    with_env("LC_ALL" => "C") do
      worker { |process| assert_equal "measured", process.call("open", **request)["arms"].first["status"] }
    end
  end

  def test_an_unknown_request_is_an_error_and_not_the_end
    worker do |process|
      assert_raises(Lab::WorkerLost) { process.call("pass", arms: [[9, 1]]) }
      assert process.call("hello")["pid"]
    end
  end
end
