# frozen_string_literal: true

require_relative "../support/lab_case"
require "tiercel/lab"

class ArmProcessTest < LabCase
  ArmProcess = Lab::Engine::ArmProcess

  # A contestant that keeps objects.
  class Holder
    def initialize(count) = @objects = Array.new(count) { Object.new }
    def live = [GC.start, GC.stat(:heap_live_slots)].last
    def refuse = raise(ArgumentError, "no")
    def die = Process.kill(:KILL, Process.pid)
    def pid = Process.pid
  end

  def open(*counts)
    processes = counts.each_with_object([]) do |count, all|
      all << ArmProcess.new(all.flat_map(&:pipes)) { Holder.new(count) }
    end
    yield(*processes)
  ensure
    processes&.each(&:stop)
  end

  def test_the_objects_of_one_arm_are_in_no_other_arms_heap
    open(10, 400_000, 10) do |*processes|
      first, large, last = processes.map { |process| process.call(:live) }
      assert_operator large - first, :>, 350_000
      assert_in_delta first, last, 50_000
    end
  end

  def test_an_error_is_told_and_the_process_goes_on
    open(1) do |process|
      assert_match(/ArgumentError: no/, assert_raises(Lab::WorkerLost) { process.call(:refuse) }.message)
      assert_operator process.call(:pid), :>, 0
    end
  end

  def test_an_end_is_told
    open(1, 1) do |dying, other|
      assert_equal "the worker ended by signal 9", assert_raises(Lab::WorkerLost) { dying.call(:die) }.message
      assert_operator other.call(:pid), :>, 0
    end
  end

  def test_stopping_one_does_not_wait_for_another
    open(1, 1) do |one, other|
      pid = one.call(:pid)
      one.stop
      assert_raises(Errno::ESRCH) { Process.kill(0, pid) }
      assert_operator other.call(:pid), :>, 0
    end
  end
end
