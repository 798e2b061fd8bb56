# frozen_string_literal: true
# suites: store*
# quick

require "test_helper"
require "active_support/cache/tiercel_store"
require "active_support/core_ext/time"
require "active_support/current_attributes"
require "i18n"
require "support/moved_clock"

# A refresh in the background has the language, zone and attributes of its caller.
class RefreshTest < Tiercel::TestCase
  # An example from the Rails guides: one attribute's writer sets others, and none accepts nil.
  class Current < ActiveSupport::CurrentAttributes
    attribute :account, :user

    def user=(user)
      super
      self.account = user.fetch(:account)
    end
  end

  def setup
    super
    @store = Tiercel.new("memory:", expires_in: 60, stale_while_revalidate: 60, refresh: :background)
    @locales = I18n.available_locales
    I18n.available_locales = [*@locales, :fr]
  end

  def teardown
    Current.reset
    I18n.available_locales = @locales
    @store.close
    super
  end

  # @return [Object] what the block returned; nil if it raised
  def in_the_background
    done = Queue.new
    @store.write("name", "old")
    later do
      assert_equal("old", @store.fetch("name") do
        value = yield
      ensure
        done << value
      end)
    end
    done.pop(timeout: 60)
  end

  def later(&) = MovedClock.by(61, &)

  def test_the_state_of_the_caller
    Current.user = user = { account: 1 }
    Current.account = 2
    caller = Thread.current
    Fiber[:held] = "the caller's block"
    seen = I18n.with_locale(:fr) do
      Time.use_zone("Hawaii") do
        in_the_background do
          [Thread.current == caller, Fiber[:held], I18n.locale, Time.zone.name, Current.user, Current.account]
        end
      end
    end
    Fiber[:held] = nil
    assert_equal [false, nil, :fr, "Hawaii", user, 2], seen
  end

  def test_nothing_of_it_stays_in_the_thread
    Current.account = 1
    in_the_background { nil }
    wait_until { Tiercel::Fetch::Refresh.idle? }
    Current.reset
    assert_equal([:en, nil], in_the_background { [I18n.locale, Current.account] })
  end

  def test_an_error_is_reported_and_the_old_value_stays
    reports = capture_reports do
      in_the_background { raise IOError, "upstream" }
      wait_until { Tiercel::Fetch::Refresh.idle? }
    end
    # Stores of other tests may report beside it.
    assert_equal 1, reports.count { |report| report.error.is_a?(IOError) }
    later { assert_equal("old", @store.fetch("name") { "new" }) }
  end
end
