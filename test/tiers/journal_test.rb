# frozen_string_literal: true
# suites: kernel, store

require "test_helper"
require "support/journals"

# The journal keeps the keys that the last tier has to delete, within a bound. One process at a time replays them.
class TiersJournalTest < Tiercel::TestCase
  include Journals

  def test_a_key_is_pending_until_its_page_is_replayed
    both.each do |journal|
      assert_equal false, journal.pending?
      refute journal.include?("a")
      assert_equal true, journal.note(["a", "\xFF\0".b, "ü"])
      assert_equal [true, true, true, false], ["a", "\xFF\0".b, "ü", "b"].map { |key| journal.include?(key) }
      journal.note(%w[tag], Journal::GENERATION)
      page = replayed(journal)
      assert_equal ["a", "\xFF\0".b, "ü"].map(&:b), page.frames.map(&:b)
      assert_equal %w[tag], page.generations
      assert_equal [false, false], [journal.pending?, journal.include?("a")]
    end
  end

  def test_every_process_knows_the_notes_of_the_file
    in_a_file.note(keys(50))
    found = fork_and_wait(2) { keys(60).select { |key| in_a_file.include?(key) } }
    assert_equal [keys(50)] * 2, found
  end

  def test_keys_of_one_slot
    names = Array.new(200_000) { |number| "n#{number}" }.group_by { |key| Zlib.crc32(key) % Ring::SLOTS }
                 .each_value.find { |same| same.size > 3 }
    journal = in_a_file
    last = names.pop
    names.each { |key| journal.note([key]) }
    assert(names.all? { |key| in_a_file.include?(key) })
    refute in_a_file.include?(last)
    journal.note([last])
    journal.replay { assert(names.all? { |key| in_a_file.include?(key) }) }
    refute_includes [*names, last].map { |key| in_a_file.include?(key) }, true
  end

  def test_the_same_key_again_takes_no_more_room
    journal = in_a_file
    journal.note(%w[key])
    before = tail
    1_000.times { journal.note(%w[key]) }
    assert_equal before, tail
    long = "k" * 1_000_000
    process = of_a_process
    100.times { assert process.note([long]) }
    assert_equal [long], replayed(process).frames
  end

  def test_many_keys_are_replayed_in_pages
    both.each do |journal|
      journal.note(keys(2_000))
      sizes = []
      nil while journal.replay { |page| sizes << page.frames.size }
      assert_equal [Journal::PAGE] * 4, sizes
    end
  end

  def test_a_page_that_fails_stays
    both.each do |journal|
      journal.note(keys(1_200))
      journal.replay { nil }
      assert_raises(Tiercel::Unavailable) { journal.replay { raise Tiercel::Unavailable } }
      assert journal.include?("key 500")
      refute journal.include?("key 499")
      assert_equal keys(1_200).drop(Journal::PAGE), replayed(journal).frames
    end
  end

  def test_a_key_with_a_new_note_during_its_replay_is_replayed_again
    both.each do |journal|
      journal.note(%w[key])
      pages = []
      nil while journal.replay do |page|
        pages << page.frames
        journal.note(%w[key]) if pages.size == 1
      end
      assert_equal [%w[key]] * 2, pages
      refute journal.include?("key")
    end
  end

  # A write that timed out may still arrive for 8 s.
  def test_a_late_key_is_replayed_twice
    both.each do |journal|
      journal.note(%w[key], late: true)
      assert_equal %w[key], replayed(journal).frames
      assert_equal [true, true], [journal.pending?, journal.include?("key")]
      assert_in_delta Journal::LATE_SECONDS, journal.replay { flunk "not yet" }, 4
      later(Journal::LATE_SECONDS - 4) { assert_operator(journal.replay { flunk "not yet" }, :<=, 4) }
      later(Journal::LATE_SECONDS + 0.1) { assert_equal %w[key], replayed(journal).frames }
      assert_equal [false, false], [journal.pending?, journal.include?("key")]
    end
  end

  def test_a_key_that_is_late_again_is_due_again
    both.each do |journal|
      journal.note(%w[key], late: true)
      replayed(journal)
      later(5) { journal.note(%w[key], late: true) }
      later(9) { replayed(journal) }
      assert journal.include?("key")
      later(14) { replayed(journal) }
      refute journal.include?("key")
    end
  end

  def test_a_full_journal_takes_no_more_and_keeps_what_it_has
    both.each do |journal|
      long = "k" * 100_000
      taken = Array.new(200) { |number| journal.note(["#{number} #{long}"]) }
      assert_equal [true, false], [taken.first, taken.last]
      assert_operator taken.count(true), :>, 140
      assert_operator File.size(@path), :<=, Journal::MOST_BYTES if File.exist?(@path)
      assert_equal taken.count(true), replayed(journal).frames.size
      assert_equal true, journal.note(%w[key])
      assert_equal %w[key], replayed(journal).frames
    end
  end

  # Positions grow, but places in the file are reused.
  def test_the_file_is_a_ring
    journal = in_a_file
    long = "k" * 1_500_000
    journal.note(["first"])
    30.times do |number|
      journal.note(["#{number} #{long}", "short #{number}"])
      pages = []
      journal.replay do |page|
        pages.concat(page.frames)
        journal.note(["kept #{number}"])
      end
      assert_includes pages, "short #{number}"
      assert_equal [false, true], ["short #{number}", "kept #{number}"].map { |key| journal.include?(key) }
    end
    assert_operator tail, :>, Journal::MOST_BYTES
    assert_equal ["kept 29"], replayed(journal).frames
  end

  def test_all_processes_note_and_one_replays
    fork_and_wait(4) { |index| in_a_file.note(Array.new(100) { |number| "key #{index} #{number}" }) && nil }
    one, other = in_a_file, in_a_file
    pages = []
    one.replay do |page|
      pages << page.frames.size
      assert_equal Journal::BUSY_SECONDS, other.replay { flunk "two at a time" }
    end
    assert_equal [400], pages
    refute other.pending?
  end

  # Another process continues once the term of the killed one has ended.
  def test_an_owner_that_is_killed
    in_a_file.note(%w[a b])
    pid = fork { in_a_file.replay { Process.kill(:KILL, Process.pid) && sleep } }
    Process.wait(pid)
    assert_equal Journal::BUSY_SECONDS, in_a_file.replay { flunk "not yet" }
    later(Ring::TERM_SECONDS + 0.1) { assert_equal %w[a b], replayed(in_a_file).frames }
  end

  # A stopped owner and its successor both replay the page.
  def test_an_owner_that_loses_its_term
    in_a_file.note(%w[a b])
    others = nil
    in_a_file.replay { others = later(Ring::TERM_SECONDS + 0.1) { replayed(in_a_file).frames } }
    assert_equal %w[a b], others
    assert_equal false, in_a_file.pending?
    in_a_file.note(%w[c])
    assert_equal %w[c], replayed(in_a_file).frames
  end
end
