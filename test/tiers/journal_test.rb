# frozen_string_literal: true

require "test_helper"
require "tiercel/tiers"
require "tiercel/segment"

# The keys that the last tier must delete: stored, bounded, and deleted by one process at a time.
class TiersJournalTest < Tiercel::TestCase
  Journal = Tiercel::Tiers::Journal
  Ring = Journal::Ring
  LAST = "redis://127.0.0.1/0"

  def setup
    @dir = Dir.mktmpdir("tiercel-journal-")
    @segment = "#{@dir}/segment"
    File.write(@segment, "", perm: 0o640)
    @path, @late = %w[keys late].map { |kind| "#{@segment}.journal-#{Zlib.crc32(LAST).to_s(36)}.#{kind}" }
  end

  def teardown = FileUtils.rm_rf(@dir)

  def in_a_file(last = LAST) = Journal.new(@segment, last)
  def of_a_process = Journal.new(nil, LAST)
  def both = [in_a_file, of_a_process]

  # @return [Journal::Page] all keys that one process settles
  def settled(journal)
    all = Journal::Page.new([], [], false)
    note = lambda do |page|
      all.frames.concat(page.frames)
      all.generations.concat(page.generations)
      all.damaged ||= page.damaged
    end
    nil while journal.settle(&note)&.zero?
    all
  end

  def keys(count) = Array.new(count) { |number| "key #{number}" }

  # Pretends that this many seconds have passed.
  def later(seconds, &)
    now = Tiercel::Clock.monotonic + seconds
    Tiercel::Clock.stub(:monotonic, now, &)
  end

  def test_a_key_is_unsettled_until_its_page_is_settled
    both.each do |journal|
      assert_equal false, journal.pending?
      refute journal.include?("a")
      assert_equal true, journal.note(["a", "\xFF\0".b, "ü"])
      assert_equal [true, true, true, false], ["a", "\xFF\0".b, "ü", "b"].map { |key| journal.include?(key) }
      journal.note(%w[tag], Journal::GENERATION)
      page = settled(journal)
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
    journal.settle { assert(names.all? { |key| in_a_file.include?(key) }) }
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
    assert_equal [long], settled(process).frames
  end

  def tail = File.binread(@path, 8, 40).unpack1("Q<")

  def test_many_keys_are_settled_in_pages
    both.each do |journal|
      journal.note(keys(2_000))
      sizes = []
      nil while journal.settle { |page| sizes << page.frames.size }
      assert_equal [Journal::PAGE] * 4, sizes
    end
  end

  def test_a_page_that_fails_stays
    both.each do |journal|
      journal.note(keys(1_200))
      journal.settle { nil }
      assert_raises(Tiercel::Unavailable) { journal.settle { raise Tiercel::Unavailable } }
      assert journal.include?("key 500")
      refute journal.include?("key 499")
      assert_equal keys(1_200).drop(Journal::PAGE), settled(journal).frames
    end
  end

  def test_a_key_that_is_noted_again_while_it_is_settled_is_settled_again
    both.each do |journal|
      journal.note(%w[key])
      pages = []
      nil while journal.settle do |page|
        pages << page.frames
        journal.note(%w[key]) if pages.size == 1
      end
      assert_equal [%w[key]] * 2, pages
      refute journal.include?("key")
    end
  end

  # A write that timed out may still arrive for 8 s.
  def test_a_late_key_is_settled_twice
    both.each do |journal|
      journal.note(%w[key], late: true)
      assert_equal %w[key], settled(journal).frames
      assert_equal [true, true], [journal.pending?, journal.include?("key")]
      assert_in_delta Journal::LATE_SECONDS, journal.settle { flunk "not yet" }, 4
      later(Journal::LATE_SECONDS - 4) { assert_operator(journal.settle { flunk "not yet" }, :<=, 4) }
      later(Journal::LATE_SECONDS + 0.1) { assert_equal %w[key], settled(journal).frames }
      assert_equal [false, false], [journal.pending?, journal.include?("key")]
    end
  end

  def test_a_key_that_is_late_again_is_due_again
    both.each do |journal|
      journal.note(%w[key], late: true)
      settled(journal)
      later(5) { journal.note(%w[key], late: true) }
      later(9) { settled(journal) }
      assert journal.include?("key")
      later(14) { settled(journal) }
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
      assert_equal taken.count(true), settled(journal).frames.size
      assert_equal true, journal.note(%w[key])
      assert_equal %w[key], settled(journal).frames
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
      journal.settle do |page|
        pages.concat(page.frames)
        journal.note(["kept #{number}"])
      end
      assert_includes pages, "short #{number}"
      assert_equal [false, true], ["short #{number}", "kept #{number}"].map { |key| journal.include?(key) }
    end
    assert_operator tail, :>, Journal::MOST_BYTES
    assert_equal ["kept 29"], settled(journal).frames
  end

  def test_processes_note_together_and_one_settles
    fork_and_wait(4) { |index| in_a_file.note(Array.new(100) { |number| "key #{index} #{number}" }) && nil }
    one, other = in_a_file, in_a_file
    pages = []
    one.settle do |page|
      pages << page.frames.size
      assert_equal Journal::BUSY_SECONDS, other.settle { flunk "two at a time" }
    end
    assert_equal [400], pages
    refute other.pending?
  end

  # Another process continues once the term of the killed one has ended.
  def test_a_settler_that_is_killed
    in_a_file.note(%w[a b])
    pid = fork { in_a_file.settle { Process.kill(:KILL, Process.pid) && sleep } }
    Process.wait(pid)
    assert_equal Journal::BUSY_SECONDS, in_a_file.settle { flunk "not yet" }
    later(Ring::TERM_SECONDS + 0.1) { assert_equal %w[a b], settled(in_a_file).frames }
  end

  # A stopped settler has settled its page when it continues, and so has another one.
  def test_a_settler_that_loses_its_term
    in_a_file.note(%w[a b])
    others = nil
    in_a_file.settle { others = later(Ring::TERM_SECONDS + 0.1) { settled(in_a_file).frames } }
    assert_equal %w[a b], others
    assert_equal false, in_a_file.pending?
    in_a_file.note(%w[c])
    assert_equal %w[c], settled(in_a_file).frames
  end

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
      assert_equal %w[key], settled(journal).frames # of this process
      assert_equal "mine", File.read("#{@dir}/precious")
      File.unlink(@path)
    end
  end

  # The process keeps the keys in its own memory.
  def test_a_disk_that_is_full
    read = fork_and_wait(1) {
      journal = in_a_file
      trap("XFSZ", "IGNORE")
      Process.setrlimit(:FSIZE, 10_000, Process.getrlimit(:FSIZE).last)
      journal.note(keys(100))
      kept = journal.include?("key 7")
      [kept, settled(journal).frames.uniq.sort == keys(100).sort, journal.include?("key 7")]
    }
    assert_equal [[true, true, false]], read
  end

  def test_a_file_of_another_user_is_not_waited_for
    skip "takes root" unless Process.euid.zero?
    in_a_file.note(%w[key])
    File.chown(12_345, nil, @path)
    File.open(@path) do |file|
      file.flock(File::LOCK_EX)
      assert_nil(in_a_file.settle { flunk "not ours" })
      refute in_a_file.include?("key")
    end
  end

  def test_a_process_that_can_open_no_more_files_takes_every_key_for_unsettled
    in_a_file.note(%w[key])
    File.stub(:open, ->(*) { raise Errno::EMFILE }) do
      assert in_a_file.include?("other")
      assert_equal Journal::BUSY_SECONDS, in_a_file.settle { flunk "not opened" }
    end
  end

  def test_stacks_over_one_segment_with_different_last_tiers
    one, other = in_a_file("redis://one/0"), in_a_file("redis://other/0")
    one.note(%w[key])
    assert_equal [true, false], [one.pending?, other.pending?]
    assert_equal %w[key], settled(one).frames
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
      assert_equal %w[key], settled(one).frames
      assert_equal [false, false], [one.pending?, other.pending?]
      fork_and_wait(1) { other.note(%w[key]) && nil }
      assert_equal [true, true], [one.pending?, other.pending?]
    end
  end

  def test_without_a_segment_the_process_keeps_the_keys_too
    beside_a_segment do |(one, _), segment|
      segment.stub(:near_note, -> { raise Tiercel::Unavailable }) { one.note(%w[key]) }
      assert_equal true, one.pending?
      segment.stub(:near_noted, -> { raise Tiercel::Unavailable }) { assert_equal true, one.pending? }
      assert_equal %w[key key], settled(one).frames
    end
  end

  # A process killed while it writes a record leaves an incomplete one.
  def test_a_record_that_nobody_finished
    in_a_file.note(%w[before])
    File.binwrite(@path, "half of it", File.size(@path))
    in_a_file.note(%w[after])
    assert_equal [%w[before after], false], settled(in_a_file).then { |page| [page.frames, page.damaged] }
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
      found = later(1e12) { settled(in_a_file) }
      assert_empty found.frames.map(&:b) - keys(5)
      assert_equal false, in_a_file.pending?
      in_a_file.note(%w[after])
      assert_includes later(1e12) { settled(in_a_file).frames }, "after"
    end
  end
end
