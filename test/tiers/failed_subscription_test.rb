# frozen_string_literal: true
# suites: store

require "test_helper"
require "tiercel"
require "support/machines"

# A bus whose last tier cannot make a subscription.
class TiersBusFailedSubscriptionTest < Tiercel::TestCase
  include Machines

  def test_the_cause_of_the_failure_is_kept
    store = machine(:one)
    errors = Thread::Queue.new
    store.backend.last.define_singleton_method(:subscription) { |_| raise Tiercel::Unavailable, "no subscription" }
    store.backend.near.bus.define_singleton_method(:failed) do |error, failures|
      errors.push(error)
      super(error, failures)
    end
    store.read("nothing")
    assert_equal "no subscription", errors.pop(timeout: 25)&.message
  end
end
