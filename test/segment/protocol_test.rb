# frozen_string_literal: true

# suites: kernel
# quick

require "test_helper"
require_relative "protocol_model"
require_relative "protocol_calls"

# The segment's protocol for one key, as stated in memory-model.md, in all interleavings. Variants with one rule
# omitted must fail.
class SegmentProtocolTest < Tiercel::TestCase
  include ProtocolCalls

  ONE = -> { Memory.new.put(:mine, 1) }
  # The key's entry is the oldest in a full ring.
  FULL = -> { Memory.new.put(:mine, 1).put(:other, :other) }

  def violation(memory, mortal: nil, **calls, &judge)
    model = ProtocolModel.new(memory, calls, mortal: mortal)
    found = model.violation(&judge)
    assert_operator model.states, :>, 5, "the model explored nothing"
    found
  end

  def torn(_memory, calls)
    answers = calls.values.flat_map { |call| call.answer.is_a?(Array) ? call.answer : [call.answer] }
    garbage = answers.grep(Calls::Garbage).first
    garbage && "read #{garbage.to_a}"
  end

  def self.rule(name, breaks, &block)
    define_method("test_#{name}") { assert_nil instance_exec(nil, &block) }
    breaks.each do |broken|
      define_method("test_#{name}_fails_with_#{broken}") { refute_nil instance_exec(broken, &block) }
    end
  end

  rule("a_read_beside_an_append_of_another_key", [:ignores_tail]) do |broken|
    violation(FULL, read: Calls.read(broken:), write: Calls.overwrite) { |*state| torn(*state) }
  end

  rule("a_read_beside_a_change_in_place", %i[ignores_sequence]) do |broken|
    violation(ONE, read: Calls.read(broken:), write: Calls.change_in_place(2)) { |*state| torn(*state) }
  end

  rule("a_read_beside_a_change_in_place_whose_writer", [:no_sequence]) do |broken|
    violation(ONE, read: Calls.read, write: Calls.change_in_place(2, broken:)) { |*state| torn(*state) }
  end

  rule("a_read_beside_a_reappend_and_a_delete", []) do |broken|
    violation(FULL, read: Calls.read(broken:), write: Calls.reappend, delete: Calls.delete) { |*state| torn(*state) }
  end

  rule("a_delete_is_never_undone_by_a_reappend", %i[trusts_only_what_it_verified gives_up]) do |broken|
    violation(FULL, delete: Calls.in_turn(Calls.delete(broken:), Calls.read), move: Calls.reappend) do |_, calls|
      "deleted, and read #{calls[:delete].answer[1]}" if calls[:delete].answer[1]
    end
  end

  rule("a_delete_is_never_undone_by_a_reappend_that", [:blind_store]) do |broken|
    violation(FULL, delete: Calls.in_turn(Calls.delete, Calls.read), move: Calls.reappend(broken:)) do |memory, _|
      "deleted, and there again" unless memory.slot.zero?
    end
  end

  rule("a_delete_is_never_undone_by_a_change_that", [:blind_store]) do |broken|
    violation(ONE, delete: Calls.delete, change: Calls.change(2, broken:)) do |memory, calls|
      "deleted, and there again" if calls[:delete].answer && !memory.slot.zero?
    end
  end

  rule("a_change_says_whether_it_was_made", []) do |_|
    violation(ONE, delete: Calls.delete, change: Calls.change(2)) do |memory, calls|
      "gone, but there" if calls[:change].answer == :gone && !memory.slot.zero?
    end
  end

  rule("a_delete_beside_a_change_in_place", []) do |_|
    violation(ONE, delete: Calls.in_turn(Calls.delete, Calls.read), change: Calls.change_in_place(2)) do |_, calls|
      "deleted, and read #{calls[:delete].answer[1]}" if calls[:delete].answer[1]
    end
  end

  rule("a_set_that_begins_after_a_delete_stays", []) do |_|
    violation(ONE, write: Calls.in_turn(Calls.delete, Calls.set(2), Calls.read), read: Calls.read) do |memory, calls|
      torn(memory, calls) || ("read #{calls[:write].answer[2].inspect} after set 2" if calls[:write].answer[2] != 2)
    end
  end

  rule("a_clear_empties_what_began_before_it", [:never_raises_the_epoch]) do |broken|
    violation(-> { Memory.new }, clear: Calls.in_turn(Calls.clear(broken:), Calls.read),
              set: Calls.set(1)) do |memory, calls|
      # A writer that read the epoch before the clear has written nothing that is readable after it.
      began_before = calls[:set].seen.find { _1.is_a?(Integer) }&.zero? && (broken || memory.epoch == 1)
      entry = memory.slot.zero? ? nil : memory.at(memory.slot)
      "cleared, and readable" if began_before && entry && entry.epoch == memory.epoch
    end
  end

  rule("a_write_after_a_clear_stays", [:loads_the_epoch_before_the_lock]) do |broken|
    violation(ONE, clear: Calls.in_turn(Calls.clear, Calls.set(2)), set: Calls.set(1, broken:)) do |memory, calls|
      entry = memory.slot.zero? ? nil : memory.at(memory.slot)
      "written after the clear, and not readable" unless entry && entry.epoch == memory.epoch
    end
  end

  rule("a_near_fill_loses_against_an_invalidation", %i[checks_then_publishes]) do |broken|
    violation(-> { Memory.new }, fill: Calls.near_fill(1, broken:),
              stop: Calls.in_turn(Calls.near_invalidate, Calls.read)) do |memory, calls|
      readable = !memory.slot.zero? && memory.at(memory.slot).sequence.even?
      "invalidated, and filled with what was fetched before" if readable && calls[:fill].seen.first.zero?
    end
  end

  rule("a_near_fill_that_is_killed_leaves_nothing_to_read", %i[publishes_readable checks_then_publishes]) do |broken|
    violation(-> { Memory.new }, mortal: :fill, fill: Calls.near_fill(1, broken:),
                                 stop: Calls.in_turn(Calls.near_invalidate, Calls.read)) do |memory, calls|
      readable = !memory.slot.zero? && memory.at(memory.slot).sequence.even?
      "invalidated, and readable" if readable && calls[:fill].seen.first == 0
    end
  end

  rule("a_fill_without_a_lease_loses_against_a_delete", %i[checks_then_publishes publishes_readable]) do |broken|
    violation(-> { Memory.new }, mortal: :fill, fill: Calls.unheld_fill(1, broken:),
                                 delete: Calls.in_turn(Calls.counted_delete, Calls.read)) do |memory, calls|
      readable = !memory.slot.zero? && memory.at(memory.slot).sequence.even?
      "deleted, and filled with what was computed before" if readable && calls[:fill].seen.first == 0
    end
  end

  rule("a_fill_without_a_lease_loses_against_a_delete_that", [:counts_afterwards]) do |broken|
    violation(-> { Memory.new }, fill: Calls.unheld_fill(1),
                                 delete: Calls.counted_delete(broken:)) do |memory, calls|
      readable = !memory.slot.zero? && memory.at(memory.slot).sequence.even?
      "deleted, and filled with what was computed before" if readable && calls[:fill].seen.first == 0
    end
  end

  rule("a_writer_killed_in_place_leaves_no_torn_value", [:no_sequence]) do |broken|
    violation(ONE, mortal: :write, write: Calls.change_in_place(2, broken:), read: Calls.read) { |*state| torn(*state) }
  end

  rule("a_reappend_that_is_killed_undoes_no_delete", []) do |_|
    violation(FULL, mortal: :move, delete: Calls.in_turn(Calls.delete, Calls.read), move: Calls.reappend) do |_, calls|
      "deleted, and read #{calls[:delete].answer[1]}" if calls[:delete].answer[1]
    end
  end
end
