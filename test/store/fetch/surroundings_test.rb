# frozen_string_literal: true
# suites: store*

require "test_helper"
require "active_support/cache/tiercel_store"
require "active_support/core_ext/time"
require "active_support/current_attributes"
require "active_support/isolated_execution_state"
require "i18n"
require "contracts/moved_clock"

# A block that runs in another thread has the execution context of its caller.
class SurroundingsTest < Tiercel::TestCase
  class Current < ActiveSupport::CurrentAttributes
    attribute :account, :user
  end

  # An example from the Rails guides: one attribute's writer sets others, and none accepts nil.
  class Guided < ActiveSupport::CurrentAttributes
    attribute :account, :user

    def user=(user)
      super
      self.account = user.fetch(:account)
    end
  end

  WAYS = {
    "with a time limit" => ->(store, &block) { store.fetch("name", timeout: 20) { block.call } },
    "in the background" => lambda do |store, &block|
      store.fetch("name", expires_in: 60, stale_while_revalidate: 60, refresh: :background) { "old" }
      Tiercel::Contracts::MovedClock.by(61) do
        done = Queue.new
        store.fetch("name", refresh: :background) { done << block.call }
        done.pop(timeout: 20)
      end
    end,
  }.freeze

  def setup
    super
    @store = Tiercel.new("memory:", lease: true)
    @locales = I18n.available_locales
    I18n.available_locales = [*@locales, :fr]
  end

  def teardown
    Current.reset
    Guided.reset
    I18n.available_locales = @locales
    @store.close
    super
  end

  WAYS.each do |label, way|
    define_method(:"test_#{label.tr(" ", "_")}") do
      caller = Thread.current
      Current.account = account = Object.new
      seen = I18n.with_locale(:fr) do
        Time.use_zone("Hawaii") do
          way.call(@store) { [Thread.current == caller, I18n.locale, Time.zone.name, Current.account, Current.user] }
        end
      end
      assert_equal [false, :fr, "Hawaii", account, nil], seen
    end
  end

  WAYS.each do |label, way|
    define_method(:"test_attributes_are_put_in_place_past_their_writers_#{label.tr(" ", "_")}") do
      Guided.user = user = { account: 1 }
      Guided.account = 2
      assert_equal([user, 2], way.call(@store) { [Guided.user, Guided.account] })
    end
  end

  def test_values_are_stored_in_the_namespace_of_the_caller
    Thread.current[:tiercel_tenant] = "one"
    tenants = Tiercel.new("memory:", lease: true, namespace: -> { Thread.current[:tiercel_tenant] || "nobody" })
    tenants.fetch("name", timeout: 20) { "new" }
    assert_equal ["new", nil], [tenants.read("name"), tenants.read("name", namespace: "nobody")]
  ensure
    Thread.current[:tiercel_tenant] = nil
    tenants&.close
  end

  def test_what_the_caller_sets_after_it_has_gone_on_is_not_seen
    go_on = Queue.new
    done = Queue.new
    Current.account = 1
    assert_raises(Tiercel::FetchTimeout) do
      @store.fetch("name", timeout: 0.01) do
        go_on.pop
        done << Current.account
      end
    end
    Current.account = 2
    go_on << true
    assert_equal 1, done.pop(timeout: 20)
  end

  def test_nothing_of_it_stays_in_a_thread_that_goes_on
    Current.account = 1
    WAYS.fetch("in the background").call(@store) { nil }
    Current.reset
    @store.clear
    assert_equal([:en, nil], WAYS.fetch("in the background").call(@store) { [I18n.locale, Current.account] })
  end

  def test_fiber_storage_comes_along_with_a_time_limit
    Fiber[:tiercel_test] = 1
    assert_equal(1, @store.fetch("name", timeout: 20) { Fiber[:tiercel_test] })
  ensure
    Fiber[:tiercel_test] = nil
  end

  def test_what_the_executor_is_not_told
    told = []
    executor = Class.new do
      define_method(:wrap) do |&block|
        block.call
        told << :nothing
      rescue StandardError => error
        told << error
      end
    end
    as_application(executor.new) { assert_raises(IOError) { @store.fetch("name", timeout: 20) { raise IOError } } }
    assert_equal [:nothing], told, "errors are raised to the caller, who reports them"
  end

  private

  def as_application(executor)
    skip "Rails is here" if defined?(Rails)
    application = Struct.new(:executor).new(executor)
    Object.const_set(:Rails, Module.new { define_singleton_method(:application) { application } })
    yield
  ensure
    Object.send(:remove_const, :Rails) unless defined?(Rails::VERSION)
  end
end
