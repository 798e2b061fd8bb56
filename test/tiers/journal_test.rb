# frozen_string_literal: true

require "test_helper"
require "tiercel/tiers"
require "tiercel/segment"

# What the last tier could not be told: kept, bounded, repeated, by whoever comes first.
class TiersJournalTest < Tiercel::TestCase
  Journal = Tiercel::Tiers::Journal
  FAR = "redis://127.0.0.1/0"

  def setup
    @dir = Dir.mktmpdir("tiercel-journal-")
    @segment = "#{@dir}/segment"
    File.write(@segment, "", perm: 0o640)
    @path = "#{@segment}.journal-#{Zlib.crc32(FAR).to_s(36)}"
  end

  def teardown = FileUtils.rm_rf(@dir)

  def in_a_file(far = FAR) = Journal.new(@segment, far)
  def of_a_process = Journal.new(nil, FAR)

  def repeated(journal)
    all = Journal::Changes.new([], [], [], false)
    note = lambda do |changes|
      all.keys.concat(changes.keys)
      all.prefixes.concat(changes.prefixes)
      all.patterns.concat(changes.patterns)
      all.lost ||= changes.lost
    end
    # One call has a quarter of a second, which a busy machine may take for less than all.
    assert (1..50).any? { journal.repeat(&note) }, "it does not come to an end"
    all
  end

  # @yieldparam journal [Journal]
  # @yieldparam keys [Array<String>] that are noted in it
  def several_batches(count)
    [in_a_file, of_a_process].each do |journal|
      keys = Array.new(count) { |number| "key #{number}" }
      journal.note(keys, nil)
      yield journal, keys
    end
  end

  def test_what_was_noted_is_repeated_once
    [in_a_file, of_a_process].each do |journal|
      assert_equal false, journal.pending?
      journal.note(%w[a b], nil)
      journal.note(["a", "\xFF\0".b, "ü"], nil)
      journal.note_clear("app:")
      2.times { journal.note_matching("\x00\xFFpattern", nil) }
      assert_equal true, journal.pending?
      all = repeated(journal)
      assert_equal ["\x00\xFFpattern".b], all.patterns.map(&:b)
      assert_equal ["a", "b", "\xFF\0".b, "ü"].map(&:b).sort, all.keys.uniq.map(&:b).sort
      assert_equal ["app:"], all.prefixes
      assert_equal false, all.lost
      assert_equal false, journal.pending?
      journal.note(%w[a], nil)
      assert_equal %w[a], repeated(journal).keys
    end
  end

  def test_the_same_key_again_takes_no_more_room
    journal = in_a_file
    journal.note(%w[key], nil)
    size = File.size(@path)
    1_000.times { journal.note(%w[key], nil) }
    assert_equal size, File.size(@path)
  end

  def test_many_keys_go_in_batches
    several_batches(2_000) do |journal,|
      sizes = []
      journal.repeat { |changes| sizes << changes.keys.size }
      assert_equal [Journal::BATCH] * 4, sizes
    end
  end

  def test_what_fails_stays
    several_batches(1_200) do |journal, keys|
      calls = 0
      assert_raises(Tiercel::Unavailable) do
        journal.repeat { raise Tiercel::Unavailable if (calls += 1) == 2 }
      end
      assert_equal true, journal.pending?
      assert_equal keys.drop(Journal::BATCH), repeated(journal).keys
    end
  end

  def test_what_is_noted_again_while_it_is_repeated_is_repeated_again
    [in_a_file, of_a_process].each do |journal|
      seen = []
      note = lambda do
        journal.note(%w[key], nil)
        journal.note_clear("app:")
        journal.note_matching("pattern", nil)
      end
      note.call
      journal.repeat do |changes|
        seen << [changes.keys, changes.prefixes, changes.patterns]
        note.call if seen.size == 1
      end
      assert_equal [[%w[key], ["app:"], ["pattern"]]] * 2, seen
      assert_equal false, journal.pending?
    end
  end

  def test_beyond_its_bound_the_prefix_is_cleared_or_keys_are_lost
    { "app:" => [["app:"], false], nil => [[], true] }.each do |prefix, (prefixes, lost)|
      [in_a_file, of_a_process].each do |journal|
        40.times { |batch| journal.note(Array.new(500) { |number| "key #{batch} #{number}" }, prefix) }
        assert_operator File.size(@path), :<=, Journal::MOST_BYTES if File.exist?(@path)
        all = repeated(journal)
        assert_operator all.keys.size, :<=, Journal::MOST_KEYS
        assert_equal prefixes, all.prefixes.uniq
        assert_equal lost, all.lost
      end
    end
  end

  def test_beyond_its_bound_of_patterns_too
    [in_a_file, of_a_process].each do |journal|
      40.times { |number| journal.note_matching("#{number} #{"x" * 60_000}", "app:") }
      all = repeated(journal)
      assert_equal ["app:"], all.prefixes.uniq
      assert_operator all.patterns.sum(&:bytesize), :<=, Journal::MOST_BYTES
      assert_equal %w[a], journal.note(%w[a], nil) && repeated(journal).keys
    end
  end

  def test_processes_note_together_and_one_repeats
    fork_and_wait(4) { |index| in_a_file.note(Array.new(100) { |number| "key #{index} #{number}" }, nil) }
    journals = [in_a_file, in_a_file]
    refused = nil
    first = journals.first.repeat { refused ||= journals.last.repeat { flunk "two at a time" } }
    assert_equal true, first
    assert_equal false, refused
  end

  # It is repeated again when the time of who did so is over.
  def test_who_is_killed_while_he_repeats
    in_a_file.note(%w[a b], nil)
    pid = fork { in_a_file.repeat { Process.kill(:KILL, Process.pid) && sleep } }
    Process.wait(pid)
    assert_equal false, in_a_file.repeat { flunk "not yet" }
    later = Tiercel::Clock.monotonic + Journal::File::TERM_SECONDS + 0.1
    Tiercel::Clock.stub(:monotonic, later) { assert_equal %w[a b], repeated(in_a_file).keys }
  end

  def test_permissions_are_those_of_the_segment
    old = File.umask(0o077)
    in_a_file.note(%w[key], nil)
    assert_equal 0o640, File.stat(@path).mode & 0o777
  ensure
    File.umask(old)
  end

  def test_a_link_is_not_followed
    File.write("#{@dir}/precious", "mine")
    File.symlink("#{@dir}/precious", @path)
    journal = in_a_file
    journal.note(%w[key], nil)
    assert_equal "mine", File.read("#{@dir}/precious")
    assert_equal %w[key], repeated(journal).keys # by this process
  end

  # A full disk takes a part of what is written. The process has the rest, and what was there before stays.
  def test_a_disk_that_is_full
    read = fork_and_wait(1) {
      journal = in_a_file
      journal.note(%w[before], nil)
      trap("XFSZ", "IGNORE")
      limit = File.size(@path) + 700
      Process.setrlimit(:FSIZE, limit, Process.getrlimit(:FSIZE).last)
      keys = Array.new(100) { |number| "key #{number}" }
      journal.note(keys, nil)
      first = repeated(journal)
      journal.note(%w[before], nil)
      journal.note(keys, nil)
      second = repeated(journal)
      [first, second].map { |all| [all.keys.sort == [*keys, "before"].sort, all.lost] }
    }
    assert_equal [[[true, false]] * 2], read
  end

  # A process that is killed in the middle of a write leaves a part of it.
  def test_what_is_noted_after_half_a_record_is_not_lost
    in_a_file.note(%w[before], nil)
    File.binwrite(@path, "half of it", File.size(@path))
    in_a_file.note(%w[after], nil)
    all = repeated(in_a_file)
    assert_equal [%w[before after], false], [all.keys, all.lost]
  end

  def test_what_is_noted_in_a_damaged_file_is_not_lost
    random = Random.new(18)
    100.times do
      File.binwrite(@path, random.bytes(random.rand(1..200)))
      in_a_file.note(%w[after], nil)
      keys = []
      Tiercel::Clock.stub(:monotonic, 1e12) { in_a_file.repeat { |changes| keys.concat(changes.keys) } }
      assert_equal %w[after], keys
    end
  end

  def test_the_same_key_again_takes_no_more_room_in_a_process
    journal = of_a_process
    long = "k" * 1_000
    1_100.times { journal.note([long], nil) }
    all = repeated(journal)
    assert_equal [[long], false], [all.keys, all.lost]
  end

  def test_stacks_over_one_segment_with_different_last_tiers
    one, other = in_a_file("redis://one/0"), in_a_file("redis://other/0")
    one.note(%w[key], nil)
    assert_equal [true, false], [one.pending?, other.pending?]
    assert_equal %w[key], repeated(one).keys
  end

  # It is done when the slow one is done, or they would take over from each other for ever.
  def test_who_takes_longer_than_his_time
    in_a_file.note(%w[a b], nil)
    slow, other = in_a_file, in_a_file
    now = Tiercel::Clock.monotonic
    done = Tiercel::Clock.stub(:monotonic, -> { now }) do
      slow.repeat do
        now += Journal::File::TERM_SECONDS + 0.1
        refute_empty other.instance_variable_get(:@file).send(:take, "another!").first
      end
    end
    assert_equal true, done
    assert_equal false, in_a_file.pending?
  end

  # Whoever owns a file may keep it locked for ever.
  def test_a_file_of_another_user_is_not_waited_for
    skip "takes root" unless Process.euid.zero?
    in_a_file.note(%w[key], nil)
    File.chown(12_345, nil, @path)
    File.open(@path) do |file|
      file.flock(File::LOCK_EX)
      assert_equal true, in_a_file.repeat { flunk "not ours" }
    end
  end

  def test_a_second_name_of_a_file_is_not_written_to
    File.write("#{@dir}/precious", "mine")
    File.link("#{@dir}/precious", @path)
    journal = in_a_file
    journal.note(%w[key], nil)
    assert_equal %w[key], repeated(journal).keys # by this process
    assert_equal "mine", File.read("#{@dir}/precious")
  end

  def test_what_cannot_be_done_stays_and_ends_the_turn
    several_batches(1_200) do |journal, keys|
      calls = 0
      assert_nil(journal.repeat { :stays if (calls += 1) > 1 })
      assert_equal 2, calls
      assert_equal keys.drop(Journal::BATCH), repeated(journal).keys
    end
  end

  def test_they_go_with_their_segment
    path = "#{@dir}/real"
    Tiercel::Segment.open(path, bytes: 1 << 20).close
    Journal.new(path, FAR).note(%w[key], nil)
    Tiercel::Segment.remove(path)
    assert_empty Dir.children(@dir).grep(/\Areal/)
  end

  # @yieldparam journals [Array<Journal>] of handles of their own on one segment, as processes have them
  def beside_a_segment
    path = "#{@dir}/real"
    segments = Array.new(2) { Tiercel::Segment.open(path, bytes: 1 << 20) }
    yield(segments.map { |segment| Journal.new(path, FAR, segment) }, *segments)
  ensure
    segments&.each(&:close)
  end

  def looks(&)
    count = 0
    File.stub(:size?, ->(*) { (count += 1) && nil }, &)
    count
  end

  def test_the_file_is_looked_at_when_somebody_has_noted_something
    beside_a_segment do |(one, other), segment|
      word = segment.near_noted
      segment.stub(:near_noted, -> { word }) do # within a second
        assert_equal [false] * 3, Array.new(3) { one.pending? }
        assert_equal(0, looks { 100.times { one.pending? } })
        other.note(%w[key], nil)
      end
      assert_equal true, one.pending?
      assert_equal true, one.pending?
      assert_equal %w[key], repeated(one).keys
      assert_equal [false, false], [one.pending?, other.pending?]
      fork_and_wait(1) { other.note_clear("app:") && nil }
      assert_equal [true, true], [one.pending?, other.pending?]
    end
  end

  # A process that was killed between the two, or that has no segment: who has one looks once a second anyhow.
  def test_what_the_word_does_not_tell_of
    beside_a_segment do |(one, _), segment|
      one.pending?
      in_the_word_before = segment.near_noted
      Journal.new("#{@dir}/real", FAR).note(%w[key], nil)
      later = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 5
      until segment.near_noted != in_the_word_before || Process.clock_gettime(Process::CLOCK_MONOTONIC) > later
        sleep 0.01
      end
      assert_equal true, one.pending?
    end
  end

  def test_without_a_segment_the_process_keeps_it_too
    beside_a_segment do |(one, _), segment|
      segment.stub(:near_note, -> { raise Tiercel::Unavailable }) { one.note(%w[key], nil) }
      assert_equal true, one.pending?
      segment.stub(:near_noted, -> { raise Tiercel::Unavailable }) { assert_equal true, one.pending? }
      assert_equal %w[key key], repeated(one).keys
    end
  end

  def test_damage_is_lost_keys_and_no_more
    random = Random.new(17)
    200.times do
      journal = in_a_file
      journal.note(Array.new(5) { |number| "key #{number}" }, nil)
      bytes = File.binread(@path)
      case random.rand(3)
      when 0 then bytes.setbyte(random.rand(bytes.bytesize), random.rand(256))
      when 1 then bytes = bytes.byteslice(0, random.rand(bytes.bytesize))
      else bytes << random.bytes(random.rand(1..60))
      end
      File.binwrite(@path, bytes)
      keys = []
      Tiercel::Clock.stub(:monotonic, 1e12) do
        journal.repeat { |changes| keys.concat(changes.keys) }
        assert_equal false, journal.pending?
      end
      assert_empty keys.map(&:b) - Array.new(5) { |number| "key #{number}" }
    end
  end
end
