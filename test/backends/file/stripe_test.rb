# frozen_string_literal: true
# suites: kernel

require "test_helper"
require "tiercel/backends/file"

# The lock of `file:` where its holder does not end as it should.
class FileStripeTest < Tiercel::TestCase
  class Interruption < StandardError; end

  def test_what_interrupts_a_release_comes_after_it
    with_tmpdir do |directory|
      stripe = stripe_in(directory)
      stripe.define_singleton_method(:unlock_file) do
        Thread.current.raise(Interruption) # as a Timeout does, in this very moment
        super()
      end
      assert_raises(Interruption) { stripe.hold { :done } }
      assert_equal :free, stripe_in(directory).hold { :free }
      stripe.singleton_class.remove_method(:unlock_file)
      assert_equal(:free, Thread.new { stripe.hold { :free } }.value)
    end
  end

  def test_the_lock_of_a_killed_parent_is_let_go_though_its_child_lives
    with_tmpdir do |directory|
      holding, child_pid = IO.pipe
      parent = fork { hold_with_a_child(stripe_in(directory), child_pid) }
      child = holding.gets.to_i
      Process.kill(:KILL, parent)
      Process.wait(parent)
      assert_equal 1, Process.kill(0, child), "the child lives"
      assert_equal :free, stripe_in(directory).hold { :free }
    ensure
      Process.kill(:KILL, child) if child&.positive?
    end
  end

  # As a network file system answers where another machine removed the file.
  def test_a_stale_lock_file_is_opened_anew
    with_tmpdir do |directory|
      stripe = stripe_in(directory)
      stripe.hold { :opened }
      stripe.instance_variable_get(:@file).define_singleton_method(:flock) { |_| raise Errno::ESTALE }
      assert_raises(Errno::ESTALE) { stripe.instance_variable_get(:@file).flock(0) }
      assert_equal :free, stripe.hold { :free }
    end
  end

  private

  def stripe_in(directory) = Tiercel::Backends::File::Stripe.new(File.join(directory, "00"), 2)

  # The file was open before the fork, and is locked after it.
  def hold_with_a_child(stripe, child_pid)
    stripe.hold { :opened }
    child = fork { sleep 60 }
    stripe.hold do
      child_pid.puts(child)
      sleep 60
    end
  end
end
