# frozen_string_literal: true

# suites: kernel

require "test_helper"
require "socket"
require "tiercel/segment"
require_relative "segment_files"

# A process that becomes a daemon closes all inherited descriptors, and files that it opens later reuse their numbers.
class SegmentDaemonsTest < Tiercel::TestCase
  include SegmentFiles

  def setup
    super
    @segment = Tiercel::Segment.open(@path, bytes: 4 << 20, shards: 1)
  end

  def teardown
    @segment.close
    super
  end

  def test_a_daemon_takes_a_slot_of_its_own
    registered = fork_and_wait(1) do
      close_all_and_open_sockets
      assert_equal true, @segment.set("daemon", "x")
      @segment.pids
    end.first
    assert_includes registered, Process.pid
    assert_equal 2, registered.size
    assert_equal true, @segment.set("parent", "x")
  end

  def test_a_descriptor_closed_under_a_process_that_is_registered
    fork_and_wait(1) do
      @segment.set("child", "x")
      close_all_and_open_sockets
      wait_until("another slot of its own") do
        @segment.set("child", "y")
        fork_and_wait(1) { Tiercel::Segment.open_existing(@path).pids }.first.include?(Process.pid)
      end
      assert_equal "y", @segment.get("child")
    end
  end

  def test_a_strangers_descriptor_is_not_closed
    fork_and_wait(1) do
      sockets = close_all_and_open_sockets
      @segment.get("key") # notices
      @segment.close
      sockets.each { |socket| assert_kind_of Addrinfo, socket.local_address }
    end
    fork_and_wait(1) do
      sockets = close_all_and_open_sockets
      @segment.close # does not close the descriptor
      sockets.each { |socket| assert_kind_of Addrinfo, socket.local_address }
    end
  end

  private

  def close_all_and_open_sockets = Array.new(close_all) { UDPSocket.new }

  # Closes files, but not the test's own pipes and Ruby's internal descriptors. Returns the number of closed files.
  def close_all
    numbers = Dir.children("/proc/self/fd").map(&:to_i).select { |number| number > 2 }
    numbers.each do |number|
      IO.for_fd(number).close if File.readlink("/proc/self/fd/#{number}").start_with?("/")
    rescue SystemCallError, ArgumentError
      next
    end
    numbers.max
  end
end
