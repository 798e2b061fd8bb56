# frozen_string_literal: true

require "test_helper"
require "tiercel/lab/simulator"

# Properties of every policy: sizes, expiry, deletes, and the capacity as a limit.
class SimulatorPolicyTest < Tiercel::TestCase
  Simulator = Tiercel::Lab::Simulator
  # Belady's optimum needs a trace and has a test of its own.
  NAMES = Simulator::POLICIES.names - %i[belady]

  def build(name, capacity, **) = Simulator::POLICIES.fetch(name).new(capacity, **)

  def test_set_get_delete
    NAMES.each do |name|
      policy = build(name, 100)
      refute policy.get("a"), name
      assert policy.set("a", 60), name
      assert policy.get("a"), name
      assert policy.delete("a"), name
      refute policy.delete("a"), name
      refute policy.get("a"), name
      assert_equal 0, policy.used, name
      assert_equal 0, policy.evictions, name
    end
  end

  def test_an_entry_is_gone_at_the_end_of_its_ttl_and_gives_its_room_back_when_read
    NAMES.each do |name|
      policy = build(name, 100)
      policy.advance(0, 10.0)
      policy.set("a", 60, 5)
      policy.advance(1, 14.9)
      assert policy.get("a"), name
      policy.advance(2, 15.0)
      assert_equal 60, policy.used, name
      refute policy.get("a"), name
      assert_equal 0, policy.used, name
      policy.set("b", 10, 1)
      policy.advance(3, 17.0)
      refute policy.delete("b"), "#{name}: what is over cannot be deleted"
    end
  end

  def test_a_write_over_an_expired_entry_is_a_new_entry
    NAMES.each do |name|
      policy = build(name, 100)
      policy.set("a", 60, 5)
      policy.advance(1, 6.0)
      policy.set("a", 30)
      policy.advance(2, 1_000.0)
      assert policy.get("a"), name
      assert_equal 30, policy.used, name
    end
  end

  def test_what_can_never_fit_is_refused_and_the_old_value_is_gone
    NAMES.each do |name|
      policy = build(name, 100)
      policy.set("a", 100)
      assert policy.get("a"), name
      refute policy.set("a", 101), name
      refute policy.get("a"), name
      assert_equal 0, policy.used, name
    end
  end

  def test_charge_is_what_an_entry_costs
    weigher = Simulator::Weigher.record(header_bytes: 24, multiple: 16)
    assert_equal 32, weigher.call("key", 5)
    assert_equal 48, weigher.call("key", 6)
    NAMES.each do |name|
      policy = build(name, 100, weigher:)
      policy.set("key", 5)
      assert_equal 32, policy.used, name
    end
    assert_equal 1, Simulator::Weigher::ENTRY.call("key", 500)
  end

  def test_used_is_the_sum_of_what_is_held_and_never_above_the_capacity
    NAMES.each do |name|
      policy = build(name, 1_000)
      sizes = {}
      random = Random.new(7)
      3_000.times do |index|
        policy.advance(index, index.to_f)
        key = "k#{random.rand(60)}"
        case random.rand(10)
        when 0 then policy.delete(key)
        when 1..4
          size = random.rand(1..(random.rand(20).zero? ? 1_100 : 120))
          sizes[key] = size if policy.set(key, size, random.rand(3).zero? ? 20 : nil)
        else policy.get(key)
        end
        assert_operator policy.used, :<=, 1_000, name
        assert_equal policy.keys.sum { |held| sizes.fetch(held) }, policy.used, name
      end
      assert_operator policy.evictions, :>, 100, name
    end
  end

  def test_the_capacity_must_be_a_size
    error = assert_raises(Tiercel::ConfigurationError) { build(:lru, "lots") }
    assert_match(/capacity: expected bytes.*"lots"/, error.message)
    assert_equal 2048, build(:lru, "2KB").capacity
  end
end
