# frozen_string_literal: true

require_relative "../support/lab_case"
require "tiercel/lab/runner/bundle"
require "tiercel/lab/runner/pinning"
require "tiercel/lab/runner/worker_process"

class WorkerProcessTest < LabCase
  def worker(**)
    process = Lab::Runner::WorkerProcess.new(bundle: Lab::Runner::Bundle.new(nil), pinning: Lab::Runner::Pinning.new,
                                             requires: [PLANTED], **).start
    yield process
  ensure
    process&.stop
  end

  def open_request(*texts)
    arms = texts.each_with_index.map { |text, id| { id:, text:, operation: "read", exact: true } }
    { do: "open", value: { name: "string-100b" }, seed: 1, slice_ns: 500_000, label: "t", servers: {}, folders: {},
      arms: }
  end

  def test_it_is_another_ruby_with_the_same_bundle_and_yjit
    worker do |process|
      hello = process.ask(do: "hello")
      assert_equal process.pid, hello["pid"]
      assert_equal Gem.loaded_specs["activesupport"].version.to_s, hello["gems"]["activesupport"]
      assert_equal defined?(RubyVM::YJIT) ? true : false, hello["yjit"]
    end
  end

  def test_each_arm_is_answered_for
    worker do |process|
      answer = process.ask(**open_request("memory_store", "planted_wrong", "planted_absent"))
      assert_equal ["ready", "wrong values", "cannot run"], answer["arms"].map { |arm| arm["status"] }
      assert_match(/gem a_gem_that_nobody_has.*Gemfile/, answer["arms"].last["reason"])
      assert_operator answer["arms"].first["calls"], :>, 1
      slices = process.ask(do: "pass", order: [0, 0], calls: { "0" => 10 })["slices"]
      assert_equal [[0, 10], [0, 10]], slices.map { |slice| slice.first(2) }
    end
  end

  def test_values_are_looked_at_again_after_the_blocks
    request = open_request("planted_tiring")
    request[:arms].first.update(warm_up: 10, calls: 10, exact: false)
    worker do |process|
      assert_equal "ready", process.ask(**request)["arms"].first["status"]
      process.ask(do: "pass", order: [0], calls: { "0" => 100 })
      assert_equal ["wrong values"], process.ask(do: "close")["arms"].map { |arm| arm["status"] }
    end
  end

  def test_a_worker_that_dies_says_how
    worker do |process|
      error = assert_raises(Lab::WorkerLost) { process.ask(**open_request("planted_dying")) }
      assert_match(/ended by signal 9/, error.message)
    end
  end

  def test_a_worker_that_is_silent_is_ended
    worker(answer_seconds: 2) do |process|
      process.ask(do: "hello")
      Process.kill(:STOP, process.pid)
      error = assert_raises(Lab::WorkerLost) { process.ask(do: "hello") }
      assert_match(/did not answer within 2 s/, error.message)
    end
  end

  def test_stopping_leaves_no_process
    pid = worker { |process| process.ask(do: "hello")["pid"] }
    assert_raises(Errno::ESRCH) { Process.kill(0, pid) }
  end

  def test_an_unknown_request_is_an_error_and_not_the_end
    worker do |process|
      assert_raises(Lab::WorkerLost) { process.ask(do: "pass", order: [9], calls: { "9" => 1 }) }
      assert process.ask(do: "hello")["pid"]
    end
  end
end
