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

  # If the lock file is gone too, no process can reopen it, so all of them move to a new segment.
  def test_a_lock_file_that_is_gone_besides
    fork_and_wait(1) do
      @segment.set("child", "x")
      close_all_and_open_sockets
      File.unlink("#{@path}.lock")
      wait_until("another segment") { @segment.get("child").nil? }
      assert_equal true, @segment.set("child", "y")
    end
    assert_equal true, @segment.set("parent", "x")
    assert_equal "y", @segment.get("child")
  end

  # Standard input is closed too, and later reopened over the descriptor that has its number by then.
  def test_standard_streams_that_are_opened_again
    fork_and_wait(1) do
      IO.for_fd(0).close
      close_all
      @segment.set("child", "x")
      $stdin.reopen(File::NULL)
      assert_includes fork_and_wait(1) { Tiercel::Segment.open_existing(@path).pids }.first, Process.pid
    end
  end

  def test_values_while_daemons_come_and_go
    rounds = long? ? 200_000 : 20_000
    checked = fork_and_wait(3, within: long? ? 600 : 60) do |index|
      close_all_and_open_sockets if index.positive?
      rounds.times.count do |round|
        key = "key#{(round * 7) % 50}"
        fill = ((round + index) % 26 + 97).chr
        @segment.set(key, "#{key}:#{fill * (round * 37 % 3_000)}")
        value = @segment.get(key) or next
        owner, rest = value.split(":", 2)
        raise "foreign or torn: #{key}, #{owner}, #{rest.squeeze}" unless owner == key && rest.squeeze.size <= 1
        true
      rescue Tiercel::TimedOut
        next # may happen on a busy machine
      end
    end
    assert_operator checked.sum, :>, rounds
    assert_equal 0, @segment.stats[:resets]
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
