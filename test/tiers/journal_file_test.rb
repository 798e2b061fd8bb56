# frozen_string_literal: true
# suites: kernel, store

require "test_helper"
require "support/journals"

# The journal's files beside a segment: their permissions, other users, full disks and damage.
class TiersJournalFileTest < Tiercel::TestCase
  include Journals

  def test_the_file_has_the_permissions_of_the_segment
    old = File.umask(0o077)
    in_a_file.note(%w[key])
    assert_equal 0o640, File.stat(@path).mode & 0o777
  ensure
    File.umask(old)
  end

  def test_a_link_is_not_followed
    File.write("#{@dir}/precious", "mine")
    [File.method(:symlink), File.method(:link)].each do |link|
      link.call("#{@dir}/precious", @path)
      journal = in_a_file
      journal.note(%w[key])
      assert journal.include?("key")
      assert_equal %w[key], replayed(journal).frames # notes of this process
      assert_equal "mine", File.read("#{@dir}/precious")
      File.unlink(@path)
    end
  end

  def test_a_term_that_is_no_number_is_over
    in_a_file.note(%w[key])
    File.binwrite(@path, ["somebody", Float::NAN].pack("a8E"), 8)
    assert_equal %w[key], replayed(in_a_file).frames
  end

  # The process keeps the keys in its own memory.
  def test_a_disk_that_is_full
    read = fork_and_wait(1) {
      journal = in_a_file
      trap("XFSZ", "IGNORE")
      Process.setrlimit(:FSIZE, 10_000, Process.getrlimit(:FSIZE).last)
      journal.note(keys(100))
      kept = journal.include?("key 7")
      [kept, replayed(journal).frames.uniq.sort == keys(100).sort, journal.include?("key 7")]
    }
    assert_equal [[true, true, false]], read
  end

  def test_a_file_of_another_user_is_not_waited_for
    skip "takes root" unless Process.euid.zero?
    in_a_file.note(%w[key])
    File.chown(12_345, nil, @path)
    File.open(@path) do |file|
      file.flock(File::LOCK_EX)
      assert_nil(in_a_file.replay { flunk "not ours" })
      refute in_a_file.include?("key")
    end
  end

  def test_a_process_that_can_open_no_more_files_takes_every_key_for_pending
    in_a_file.note(%w[key])
    File.stub(:open, ->(*) { raise Errno::EMFILE }) do
      assert in_a_file.include?("other")
      assert_equal Journal::BUSY_SECONDS, in_a_file.replay { flunk "not opened" }
    end
  end

  def test_stacks_over_one_segment_with_different_last_tiers
    one, other = in_a_file("redis://one/0"), in_a_file("redis://other/0")
    one.note(%w[key])
    assert_equal [true, false], [one.pending?, other.pending?]
    assert_equal %w[key], replayed(one).frames
  end

  def test_the_files_go_with_their_segment
    path = "#{@dir}/real"
    Tiercel::Segment.open(path, bytes: 1 << 20).close
    Journal.new(path, LAST).note(%w[key], late: true)
    Tiercel::Segment.remove(path)
    assert_empty Dir.children(@dir).grep(/\Areal/)
  end

  # @yieldparam journals [Array<Journal>] journals with separate handles on one segment, as in several processes
  def beside_a_segment
    path = "#{@dir}/real"
    segments = Array.new(2) { Tiercel::Segment.open(path, bytes: 1 << 20) }
    yield(segments.map { |segment| Journal.new(path, LAST, segment) }, *segments)
  ensure
    segments&.each(&:close)
  end

  def looks(&)
    count = 0
    File.stub(:size?, ->(*) { (count += 1) && nil }, &)
    count
  end

  def test_the_files_are_looked_at_when_somebody_has_noted_a_key
    beside_a_segment do |(one, other), segment|
      word = segment.near_noted
      segment.stub(:near_noted, -> { word }) do # within one second
        assert_equal [false] * 3, Array.new(3) { one.pending? }
        assert_equal(0, looks { 100.times { one.pending? } })
        other.note(%w[key])
      end
      assert_equal true, one.pending?
      assert_equal %w[key], replayed(one).frames
      assert_equal [false, false], [one.pending?, other.pending?]
      fork_and_wait(1) { other.note(%w[key]) && nil }
      assert_equal [true, true], [one.pending?, other.pending?]
    end
  end

  def test_without_a_segment_the_file_has_the_keys
    beside_a_segment do |(one, _), segment|
      segment.stub(:near_note, -> { raise Tiercel::Unavailable }) { one.note(%w[key]) }
      assert_equal true, one.pending?
      segment.stub(:near_noted, -> { raise Tiercel::Unavailable }) { assert_equal true, one.pending? }
      assert_equal %w[key], replayed(one).frames
    end
  end

  # A process killed while it writes a record leaves an incomplete one.
  def test_a_record_that_nobody_finished
    in_a_file.note(%w[before])
    File.binwrite(@path, "half of it", File.size(@path))
    in_a_file.note(%w[after])
    assert_equal [%w[before after], false], replayed(in_a_file).then { |page| [page.frames, page.damaged] }
  end

  def test_damage_loses_keys_and_invents_none
    random = Random.new(17)
    200.times do
      in_a_file.note(keys(5))
      bytes = File.binread(@path)
      from = random.rand(2).zero? ? 0 : Ring::RECORDS_AT
      case random.rand(3)
      when 0 then bytes.setbyte(random.rand(from...bytes.bytesize), random.rand(256))
      when 1 then bytes = bytes.byteslice(0, random.rand(from..bytes.bytesize))
      else bytes[0, 48] = random.bytes(48)
      end
      File.binwrite(@path, bytes)
      in_a_file.include?("key 1")
      found = later(1e12) { replayed(in_a_file) }
      assert_empty found.frames.map(&:b) - keys(5)
      assert_equal false, in_a_file.pending?
      in_a_file.note(%w[after])
      assert_includes later(1e12) { replayed(in_a_file).frames }, "after"
    end
  end
end
