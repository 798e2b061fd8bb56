# frozen_string_literal: true
# suites: kernel

require "test_helper"
require "open3"
require "tiercel/segment"
require_relative "../support/memory_stub"
require_relative "../support/small_volume"

# The location of a named segment is decided once, and the free space at a later start does not change it.
class SegmentOpeningTest < Tiercel::TestCase
  include MemoryStub

  Opening = Tiercel::Segment::Opening
  Place = Tiercel::Segment::Place

  def teardown = ObjectSpace.each_object(Tiercel::Segment, &:close)

  def test_processes_that_start_at_once_where_there_is_room_for_one
    in_volumes("20m", "64m") do |first, second|
      assert_one(at_once(20, first, second), first)
    end
  end

  def test_one_that_had_to_go_to_the_second_place_is_joined_when_the_first_has_room_again
    in_volumes("64m", "64m") do |first, second|
      full = fill(first)
      at_once(1, first, second)
      File.delete(full)
      lines = nil
      assert_one(at_once(2, first, second) { |text| lines = text }, second)
      assert_match(/is in #{second}.* \(the segment already exists there\).*--shm-size/, lines)
    end
  end

  def test_the_second_place_is_used_loudly
    in_volumes("2m", "64m") do |first, second|
      _, said = capture_io { Opening.new(place(first, second)).call }
      assert_match(/\ATiercel: shared:app is in #{second}.*#{first} has [\d.]+ MB free.*--shm-size=1g/, said)
    end
  end

  def test_no_room_anywhere_says_what_was_wanted_what_is_free_and_what_to_do
    in_volumes("2m", "4m") do |first, second|
      error = assert_raises(Tiercel::Unavailable) { Opening.new(place(first, second), bytes: 8 << 20).call }
      assert_match(/requested [\d.]+ MB, free [\d.]+ MB in #{first} and [\d.]+ MB in #{second}/, error.message)
      assert_match(/--shm-size=1g.*`size:`/, error.message)
      refute_match(/\d{5,} bytes/, error.message)
    end
  end

  # A container with 512 MB of memory and 1 GB of /dev/shm: creating the file would kill the process at each start. The
  # file system decides, not the path: a host's /dev/shm/shop may be mounted at /cache.
  def test_a_size_beyond_the_memory_of_the_container
    skip "no file system in memory" unless Tiercel::Segment.in_memory?("/dev/shm")
    Dir.mktmpdir("tiercel", "/dev/shm") do |folder|
      with_memory(4 << 20) do
        [place(folder, nil), Place.new("#{folder}/segment")].each do |place|
          error = assert_raises(Tiercel::Unavailable) { Opening.new(place, bytes: 4 << 20).call }
          assert_match(/may use at most 4.0 MB/, error.message)
          refute_path_exists place.path
          assert_equal 2 << 20, Opening.new(place, bytes: 2 << 20).call.size_bytes
        end
      end
    end
  end

  def test_lock_files_of_another_user_in_both_places
    skip "giving files away needs root" unless Process.uid.zero?
    in_volumes("64m", "64m") do |first, second|
      [first, second].each { |directory| File.chmod(0o1777, directory) }
      locks = place(first, second).paths.map { |path| "#{path}.place" }
      locks.each { |lock| File.write(lock, "") && File.chown(12_345, nil, lock) }
      lines = nil
      assert_one(at_once(6, first, second) { |text| lines = text }, first)
      assert_match(/tiercel-app-0.v3.place belong to another user.*chosen without a lock/, lines)
    end
  end

  def test_a_process_that_is_stopped_while_it_decides_holds_others_up_for_their_budget_only
    in_volumes("64m", "64m") do |first, second|
      place = place(first, second)
      lock = Tiercel::FileLock.new("#{place.paths.first}.place", 1)
      lock.hold do
        error = assert_raises(Tiercel::Unavailable) { Opening.new(place).call(lock_seconds: 0.1) }
        assert_match(/another process has been creating it for 0.1 s/, error.message)
      end
      assert_equal first, File.dirname(Opening.new(place).call(lock_seconds: 5).path)
    end
  end

  private

  def place(first, second) = Place.new("app", shared_memory: first, temporary: second)

  # Starts the processes together: none looks for a file before all have started. The block receives their output.
  #
  # @return [Array] paths and identities
  def at_once(count, first, second)
    with_tmpdir do |directory|
      found = fork_and_wait(count) do
        $stderr.reopen("#{directory}/said", "a")
        File.write("#{directory}/started", ".", mode: "a")
        wait_until("the others", within: 50) { File.size("#{directory}/started") >= count }
        segment = Opening.new(place(first, second)).call
        [segment.path, segment.file_id]
      end
      yield File.read("#{directory}/said") if block_given?
      found
    end
  end

  def assert_one(found, directory)
    assert_equal 1, found.uniq.size, found.inspect
    assert_equal directory, File.dirname(found.first.first)
  end

  def in_volumes(first, second)
    skip "[environment] needs root to mount" unless SmallVolume.available?
    SmallVolume.open(first) { |one| SmallVolume.open(second) { |two| yield one, two } }
  end

  def fill(directory)
    path = File.join(directory, "filler")
    bytes = Tiercel::Segment.free_bytes(directory)
    File.open(path, "wb") { |file| (bytes >> 12).times { file.write("x" * 4096) } }
    path
  end
end
