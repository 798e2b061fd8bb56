# frozen_string_literal: true

require "test_helper"
require "tiercel/lab/simulator"

class SimulatorFIFOAndLRUTest < Tiercel::TestCase
  Simulator = Tiercel::Lab::Simulator

  # The policies' definitions as a plain list, without regard for speed.
  class BruteForce
    def initialize(capacity, moves_on_use:)
      @capacity = capacity
      @moves_on_use = moves_on_use
      @list = [] # [key, bytes], oldest first
    end

    def get(key)
      found = @list.assoc(key)
      move(found) if found && @moves_on_use
      !found.nil?
    end

    def set(key, bytes)
      if (found = @list.assoc(key))
        move(found) if @moves_on_use
        found[1] = bytes
      else
        @list.push([key, bytes])
      end
      # A new entry goes to the end. An entry that grows may evict itself, and is then new.
      @list.shift while total > @capacity && !@list.first.equal?(found)
      return unless total > @capacity
      @list.delete(found)
      set(key, bytes)
    end

    def delete(key) = @list.reject! { |held, _| held == key }

    def keys = @list.map(&:first)

    private

    def move(found) = @list.push(@list.delete(found))

    def total = @list.sum(&:last)
  end

  # Capacity 3, sizes 1: a b c fill it; a is read; d evicts.
  TRACE = %w[a b c a d a b].freeze

  def run_trace(policy) = TRACE.map { |key| policy.get(key).tap { |hit| policy.set(key, 1) unless hit } }

  def test_fifo_by_hand
    policy = Simulator::POLICIES.fetch(:fifo).new(3)
    # d evicts a (the oldest, although just read); a evicts b; b evicts c.
    assert_equal [false, false, false, true, false, false, false], run_trace(policy)
    assert_equal %w[d a b], policy.keys
    assert_equal 3, policy.evictions
  end

  def test_lru_by_hand
    policy = Simulator::POLICIES.fetch(:lru).new(3)
    # d evicts b (a was read after it); a is still there; b evicts c.
    assert_equal [false, false, false, true, false, true, false], run_trace(policy)
    assert_equal %w[d a b], policy.keys
    assert_equal 2, policy.evictions
  end

  def test_an_overwrite_keeps_its_place_in_fifo_and_moves_in_lru
    expected = { fifo: %w[b c], lru: %w[a c] }
    expected.each do |name, keys|
      policy = Simulator::POLICIES.fetch(name).new(2)
      policy.set("a", 1)
      policy.set("b", 1)
      policy.set("a", 1)
      policy.set("c", 1)
      assert_equal keys, policy.keys, name
    end
  end

  def test_against_brute_force
    { fifo: false, lru: true }.each do |name, moves_on_use|
      20.times do |seed|
        policy = Simulator::POLICIES.fetch(name).new(200)
        brute = BruteForce.new(200, moves_on_use:)
        random = Random.new(seed)
        400.times do |step|
          key = random.rand(25).to_s
          case random.rand(8)
          when 0 then [policy, brute].each { |cache| cache.delete(key) }
          when 1..2
            bytes = random.rand(1..60)
            [policy, brute].each { |cache| cache.set(key, bytes) }
          else
            hit = policy.get(key)
            assert_equal brute.get(key), hit, "#{name} seed #{seed} step #{step}"
            [policy, brute].each { |cache| cache.set(key, 1 + (key.to_i * 2)) } unless hit
          end
          assert_equal brute.keys, policy.keys, "#{name} seed #{seed} step #{step}"
        end
      end
    end
  end
end
