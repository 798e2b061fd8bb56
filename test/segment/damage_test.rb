# frozen_string_literal: true

# suites: kernel

require "test_helper"
require_relative "../support/small_volume"
require_relative "segment_files"

# Another program overwrote or truncated a segment's file while no process used it: an application still starts. A
# file that was never a segment is refused and stays unchanged.
class SegmentDamageTest < Tiercel::TestCase
  include SegmentFiles

  # Damage in the whole file, in its first page, in the header, or in a part of the header.
  def test_two_hundred_random_bytes_stop_nobody
    40.times do |seed|
      random = Random.new(seed)
      make
      overwrite(200, random, [0...(1 << 20), 0...4_096, 0...264, 0...1][seed % 4], whole: seed % 4 == 3)
      assert_starts_and_works("seed #{seed}")
    end
  end

  def test_files_that_were_cut_off_or_grew
    bytes = whole_segment
    [1, 7, 8, 100, 4_095, 4_096, 4_097, 500_000, (1 << 20) - 1].each do |length|
      File.binwrite(@path, bytes[0, length])
      assert_starts_and_works("#{length} bytes")
    end
    File.binwrite(@path, "#{bytes}more")
    assert_starts_and_works("longer")
  end

  # Recognized by its name alone, even if the lock file is missing or damaged.
  def test_a_segment_of_a_default_name_is_ours_whatever_is_in_it
    @path = File.join(dir, "tiercel-my_app-1000.v#{Tiercel::Segment::LAYOUT_VERSION}")
    ["", nil, "x" * 100].each do |lock|
      File.binwrite(@path, "nothing of a segment" * 1_000)
      lock ? File.binwrite("#{@path}.lock", lock) : FileUtils.rm_f("#{@path}.lock")
      assert_starts_and_works("lock file: #{lock.inspect}")
    end
    %w[tiercel-my_app-1000.v1 my_app.v3 tiercel-.v3 tiercel-my_app].each do |name|
      assert_refused_untouched(File.join(dir, name), "nothing of a segment" * 1_000)
    end
  end

  # A Gemfile.lock beside a Gemfile, for example.
  def test_a_lock_file_that_is_a_strangers_is_no_mark_and_is_left_alone
    path = File.join(dir, "Gemfile")
    File.write("#{path}.lock", "GEM\n  remote: somewhere\n")
    assert_refused_untouched(path, "source 'somewhere'\n" * 500)
    Tiercel::Segment.open(path, bytes: 1 << 20).close
    assert_refused_untouched(path, "source 'somewhere'\n" * 500)
    Tiercel::Segment.open(path, bytes: 1 << 20).close
    Tiercel::Segment.remove(path)
    assert_equal "GEM\n  remote: somewhere\n", File.read("#{path}.lock")
  end

  def test_it_is_reported_once_by_one_of_many_processes
    make
    overwrite(200, Random.new(1), 0...264)
    reports = fork_and_wait(6) do
      capture_reports { assert_starts_and_works("one of six") }.map { |report| report.error.message }
    end
    assert_equal 1, reports.sum(&:size)
    assert_match(/#{@path}: its header is damaged; a new, empty segment replaces it/, reports.flatten.first)
  end

  # Processes that use the segment continue with their own copy of the header, and move once one has replaced it.
  def test_damage_under_processes_that_use_it
    segment = Tiercel::Segment.open(@path, bytes: 1 << 20)
    segment.set("key", "value")
    overwrite(8, Random.new(1), 0...8)
    assert_equal "value", segment.get("key")
    fork_and_wait(1) { assert_starts_and_works("another process") }
    assert_equal "new", segment.get("after")
  ensure
    segment&.close
  end

  # The volume has space for one file of this size, not for two.
  def test_there_need_be_no_room_for_two
    skip "[environment] needs root to mount" unless SmallVolume.available?
    SmallVolume.open("1536k") do |directory|
      @path = File.join(directory, "segment")
      [264, 4_096].each do |extent|
        make
        overwrite(200, Random.new(extent), 0...extent)
        assert_starts_and_works("damaged on a full volume")
      end
    end
  end

  private

  def make
    segment = Tiercel::Segment.open(@path, bytes: 1 << 20)
    50.times { |index| segment.set("key#{index}", "value #{index}" * index) }
    segment.close
  end

  def whole_segment
    make
    File.binread(@path)
  end

  def overwrite(count, random, extent, whole: false)
    File.open(@path, "r+b") do |file|
      next file.pwrite(random.bytes(count), extent.begin) if whole
      count.times { file.pwrite(random.bytes(1), random.rand(extent)) }
    end
  end

  def assert_starts_and_works(what)
    store = Tiercel.new("shared:#{@path}", size: "1MB")
    assert_equal true, store.write("name", "value"), what
    assert_equal "value", store.read("name"), what
    store.backend.segment.set("after", "new")
  ensure
    store&.backend&.close
  end

  def assert_refused_untouched(path, bytes)
    File.binwrite(path, bytes)
    beside = Dir.children(dir)
    error = assert_raises(Tiercel::ConfigurationError) { Tiercel::Segment.open(path, bytes: 1 << 20) }
    assert_match(/#{path} is not a segment: remove it or use another path/, error.message)
    assert_equal [bytes.b, beside], [File.binread(path), Dir.children(dir)]
  ensure
    File.unlink(path)
  end
end
