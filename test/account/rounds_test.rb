# frozen_string_literal: true

require "test_helper"
require "tiercel/account"

# The part of an account that is brought up to date once a second.
class AccountRoundsTest < Tiercel::TestCase
  Account = Tiercel::Account
  MISSES = 500

  def setup
    super
    @rounds = Account::Rounds.new(Account::Book.new(nil, Account::Rounds::BYTES), 1, nil) { [] }
  end

  # Noting a miss costs the caller's time.
  def test_a_pending_miss_makes_no_object
    key = "products/1"
    2.times { @rounds.note(key, 1, 0.0) }
    before = GC.stat(:total_allocated_objects)
    MISSES.times { @rounds.note(key, 1, 0.0) }
    assert_operator GC.stat(:total_allocated_objects) - before, :<, MISSES / 2
  end

  def test_pending_misses_and_hits_are_added_by_class
    2.times { |index| @rounds.note("products/#{index}", 1, 0.5) }
    @rounds.note("products/1", 0, 2.0)
    @rounds.note_hits("products/2", 256)
    classes = @rounds.classes(:day, 10, 1)
    assert_equal [[2, 3.0, 256, 2.0]],
                 classes.map { |one| one.values_at(:misses, :seconds, :hits, :longest_seconds) }
  end
end
