# frozen_string_literal: true
# suites: kernel
# quick

require "test_helper"

# Releases that are attempted again.
class ReleaseQueueTest < Tiercel::TestCase
  def lease = Tiercel::Leases::Lease.own("key", 10.0, nil)

  # The thread decides that it ends, and before it has ended a caller pushes.
  def test_a_push_while_the_thread_ends_is_attempted
    queue = Tiercel::Leases::ReleaseQueue.new
    attempts = Queue.new
    pushed = false
    at_the_end(queue) do
      next if pushed
      pushed = true
      Thread.new { queue.push(lease) { attempts << :second } }.tap { |pusher| Thread.pass until pusher.stop? }
    end
    queue.push(lease) { attempts << :first }
    assert_equal %i[first second], [attempts.pop(timeout: 60), attempts.pop(timeout: 60)]
    wait_until { queue.empty? }
  end

  def test_a_release_that_fails_is_attempted_until_it_arrives
    queue = Tiercel::Leases::ReleaseQueue.new
    answers = [Tiercel::TimedOut.new("late"), Tiercel::TimedOut.new("late"), true]
    attempts = Queue.new
    queue.push(lease) { (attempts << answers.shift).pop.tap { |answer| raise answer unless answer == true } }
    wait_until { queue.empty? }
    assert_empty answers
  end

  def test_a_child_attempts_none_of_its_parents_releases
    queue = Tiercel::Leases::ReleaseQueue.new
    tried_by = []
    queue.push(lease) { (tried_by << Process.pid) && raise(Tiercel::TimedOut, "late") }
    children = fork_and_wait(1) do
      own = Queue.new
      queue.push(lease) { own << true }
      own.pop(timeout: 60) && tried_by.include?(Process.pid)
    end
    assert_equal [false], children
  ensure
    queue&.close
  end

  private

  # Calls the block when the thread has just found the queue empty and is about to end.
  def at_the_end(queue)
    thread = queue.instance_variable_get(:@thread)
    again = thread.instance_variable_get(:@again)
    thread.instance_variable_set(:@again, -> { again.call.tap { |more| yield unless more } })
  end
end
