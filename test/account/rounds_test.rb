# frozen_string_literal: true

require "test_helper"
require "tiercel/account"

# The part of an account that is brought up to date once a second.
class AccountRoundsTest < Tiercel::TestCase
  Account = Tiercel::Account
  MISSES = 500

  def setup
    super
    book = Account::Book.new(nil, Account::Rounds::BYTES)
    @counters = book.counters
    @rounds = Account::Rounds.new(book, nil) { [] }
  end

  # Counts a miss and its block, like the account.
  def miss(key, seconds = 0.0)
    weight = @counters.miss(0, nil)
    @rounds.note_miss(key, weight) if weight
    block(key, (seconds * 1e9).to_i)
  end

  def block(key, duration_ns)
    noted_ns = @counters.block(0, duration_ns)
    @rounds.note_block(key, noted_ns, duration_ns) if noted_ns
  end

  # Noting a miss costs the caller's time.
  def test_a_pending_miss_makes_no_object
    key = "products/1"
    2.times { miss(key) }
    before = GC.stat(:total_allocated_objects)
    MISSES.times { miss(key) }
    assert_operator GC.stat(:total_allocated_objects) - before, :<, MISSES / 2
  end

  def test_pending_misses_and_hits_are_added_by_class
    2.times { |index| miss("products/#{index}", 0.5) }
    block("products/1", 2_000_000_000)
    @rounds.note_hits("products/2", 256)
    classes = @rounds.classes(:day, 10, 1)
    assert_equal [[2, 3.0, 256, 2.0]],
                 classes.map { |one| one.values_at(:misses, :seconds, :hits, :longest_seconds) }
  end

  # Beside computing threads, each step of a round waits for the interpreter's lock.
  def test_the_next_round_is_later_after_a_long_one
    held = 0
    book = Account::Book.new(nil, Account::Rounds::BYTES)
    book.define_singleton_method(:hold) do |patience, &block|
      sleep 0.1 if (held += 1) == 1
      super(patience, &block)
    end
    book.counters.rest(1, 1)
    rounds = Account::Rounds.new(book, nil) { [0] * Account::Figures::COUNT }
    counts = [1, 2, 3, 6, 60, 80].map do |second|
      Time.stub(:now, Time.at(second)) { rounds.turn(second) if book.counters.due? }
      rounds.note_miss("key", 1)
      held
    end
    assert_equal [0, 1, 1, 1, 2, 3], counts
    assert_equal 6, rounds.classes(:day, 1, 80).sum { |one| one[:misses] }
  end

  # A caller's Timeout may end a round after the table has the costs.
  def test_an_interrupted_round_counts_no_class_twice
    table = @rounds.instance_variable_get(:@table)
    table.define_singleton_method(:add) do |costs, now|
      singleton_class.send(:remove_method, :add)
      add(costs, now)
      raise Interrupt
    end
    @rounds.note_miss("products/1", 3)
    assert_raises(Interrupt) { @rounds.turn(1) }
    assert_equal [3], @rounds.classes(:day, 10, 1).map { |one| one[:misses] }
  end

  # A miss and its block have the same key.
  def test_a_miss_with_a_block_is_classified_once
    classified = []
    @rounds.instance_variable_get(:@class_of).define_singleton_method(:of) { |key| (classified << key) && super(key) }
    2.times { |index| miss("products/#{index}", 0.5) }
    assert_equal [2, 1.0], @rounds.classes(:day, 10, 1).first.values_at(:misses, :seconds)
    assert_equal ["products/0", "products/1"], classified
  end

  # Classifying the keys of short blocks would cost more than the blocks.
  def test_many_misses_with_short_blocks_are_estimated
    noted = []
    @rounds.define_singleton_method(:add_up) { noted.concat(@pending); super() }
    64_000.times { |index| miss("#{index.even? ? "even" : "odd"}/#{index * index % 7}", 0.000_001) }
    classes = @rounds.classes(:day, 10, 1)
    assert_in_delta 64_000, classes.sum { |one| one[:misses] }, 128
    assert_in_delta 0.064, classes.sum { |one| one[:seconds] }, 0.0001
    assert_operator noted.size / 5, :<, 2_000
  end

  # A long block counts for its own class, also in a crowd of short ones.
  def test_every_long_block_is_noted
    5_000.times { miss("views/pages/short:#{"0" * 32}/1", 0.000_001) }
    20.times { miss("views/pages/long:#{"0" * 32}/1", 0.1) }
    long = @rounds.classes(:day, 10, 1).find { |one| one[:name].start_with?("views/pages/long") }
    assert_in_delta 2.0, long[:seconds], 0.001
    assert_in_delta 0.1, long[:longest_seconds], 0.000_001
  end
end
