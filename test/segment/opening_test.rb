# frozen_string_literal: true
# suites: kernel

require "test_helper"
require "tiercel/segment"
require_relative "../support/memory_stub"

# A segment is created once, with the size that fits.
class SegmentOpeningTest < Tiercel::TestCase
  include MemoryStub

  Place = Tiercel::Segment::Place

  def teardown = ObjectSpace.each_object(Tiercel::Segment, &:close)

  def test_processes_that_start_at_once_have_one_segment
    with_tmpdir do |directory|
      found = fork_and_wait(20) do
        File.write("#{directory}/started", ".", mode: "a")
        wait_until("the others", within: 50) { File.size("#{directory}/started") >= 20 }
        Place.new("app", directory:).open(8 << 20).file_id
      end
      assert_equal 1, found.uniq.size, found.inspect
    end
  end

  def test_a_size_that_does_not_fit_becomes_the_default_size
    with_tmpdir do |directory|
      ["app", "#{directory}/segment"].each do |text|
        place = Place.new(text, directory:)
        _, said = capture_io do
          with_free(directory, 20 << 20) { assert_equal 10 << 20, place.open(32 << 20).size_bytes }
        end
        assert_match(/#{directory} has 20.0 MB free, so the `size` of 32.0 MB does not fit\. .*10.0 MB.*`size:`/, said)
      end
    end
  end

  def test_no_room_says_what_was_wanted_what_is_free_and_what_to_do
    with_tmpdir do |directory|
      with_free(directory, 4 << 20) do
        [nil, 8 << 20].each do |size|
          error = assert_raises(Tiercel::Unavailable) { Place.new("app", directory:).open(size) }
          assert_match(/requested [\d.]+ MB, free 4.0 MB in #{directory}.*`size:`/, error.message)
          refute_match(/\d{5,} bytes/, error.message)
        end
        assert_equal 2 << 20, Place.new("app", directory:).open(2 << 20).size_bytes
      end
    end
  end

  def test_the_free_space_of_later_starts_changes_nothing
    with_tmpdir do |directory|
      here = -> { Place.new("app", directory:).open.file_id }
      first = here.call
      with_free(directory, 1 << 20) { assert_equal first, here.call }
    end
  end

  def test_a_copy_on_write_file_system_is_refused
    in_btrfs do |volume|
      assert_raises(Tiercel::Unavailable) { Place.new("app", directory: volume).open }
      error = assert_raises(Tiercel::ConfigurationError) { Place.new("#{volume}/segment").open }
      assert_match(%r{#{volume}/segment would be on a copy-on-write file system.*use a path on tmpfs}, error.message)
    end
  end

  # A container with 16 MB of memory and 1 GB of /dev/shm: creating the file would kill the process at each start. The
  # file system decides, not the path: a host's /dev/shm/shop may be mounted at /cache.
  def test_a_size_beyond_the_memory_of_the_container
    skip "no file system in memory" unless Tiercel::Segment.in_memory?("/dev/shm")
    Dir.mktmpdir("tiercel", "/dev/shm") do |folder|
      with_memory(16 << 20) do
        [Place.new("app", directory: folder), Place.new("#{folder}/segment")].each do |place|
          _, said = capture_io { assert_equal 8 << 20, place.open(32 << 20).size_bytes }
          assert_match(/may use at most 16.0 MB/, said)
        end
      end
      with_memory(8 << 20) do
        error = assert_raises(Tiercel::Unavailable) { Place.new("small", directory: folder).open }
        assert_match(/may use at most 8.0 MB/, error.message)
      end
    end
  end

  def test_a_file_of_another_user_is_not_joined
    skip "giving files away needs root" unless Process.uid.zero?
    with_tmpdir do |directory|
      File.chmod(0o1777, directory)
      place = Place.new("app", directory:)
      Tiercel::Segment.open(place.path, bytes: 1 << 20).close
      File.chown(12_345, nil, place.path)
      assert_raises(Tiercel::Unavailable) { place.open }
    end
  end

  private

  # The native platform test simulates such a file system if none can be mounted.
  def in_btrfs
    with_tmpdir do |directory|
      image = "#{directory}/image"
      File.write(image, "")
      File.truncate(image, 128 << 20)
      volume = Dir.mkdir("#{directory}/volume") && "#{directory}/volume"
      made = system("mkfs.btrfs", "-q", image, %i[out err] => File::NULL) &&
             system("mount", "-o", "loop", image, volume, %i[out err] => File::NULL)
      skip "[environment] no btrfs can be mounted here" unless made
      begin
        yield volume
      ensure
        system("umount", "-l", volume)
      end
    end
  end
end
