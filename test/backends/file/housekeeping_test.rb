# frozen_string_literal: true
# suites: kernel

require "test_helper"
require "tiercel/backends/file"
require "tmpdir"

# Limits of `file:` that a usual round of housekeeping cannot keep, and files that housekeeping must not touch.
class FileHousekeepingTest < Tiercel::TestCase
  MEGABYTE = 1024**2

  def setup
    @directory = Dir.mktmpdir("tiercel-file", File.writable?("/dev/shm") ? "/dev/shm" : nil)
  end

  def teardown = FileUtils.rm_rf(@directory)

  def test_size_is_held_when_large_values_follow_small_ones
    backend = build(size: 32 * MEGABYTE)
    7_500.times { |index| backend.set("small#{index}", "x") }
    used = Array.new(25) do |index|
      assert_equal true, backend.set("large#{index}", "x" * 1_600_000)
      disk_bytes
    end
    assert_operator used.max, :<=, 32 * MEGABYTE * 1.05
    assert_operator used.last, :>=, 32 * MEGABYTE * 0.7
    assert backend.get("large24")
  end

  def test_size_is_held_when_values_grow
    backend = build(size: 6 * MEGABYTE)
    (1..30).each do |round|
      30.times { |index| backend.set("key#{index}", "x" * (round * 10_000)) }
      assert_operator disk_bytes, :<=, 6 * MEGABYTE * 1.05, "#{round * 10_000} bytes"
    end
  end

  def test_what_is_read_stays_in_a_small_cache
    backend = build(max_entries: 10)
    10.times { |index| backend.set("key#{index}", "value") }
    60.times do |index|
      assert_equal "value".b, backend.get("key0"), "after #{index} writes"
      backend.set("new#{index}", "value")
    end
    assert_equal 10, backend.scan.count
  end

  def test_folders_that_others_emptied_are_counted_anew
    backend = build
    50.times { |index| backend.set("key#{index}", "value") }
    FileUtils.rm(entry_files.first(30))
    500.times { backend.set("again", "value") }
    assert_equal entry_files.size, backend.stats[:entries]
  end

  # A network file system keeps a removed file under such a name while a process has it open.
  def test_files_of_others_in_the_folders_are_left_alone
    backend = build(max_entries: 5)
    backend.set("key", "value")
    foreign = File.join(File.dirname(entry_files.first), ".nfs00000000012345670000002a")
    FileUtils.cp(entry_files.first, foreign)
    40.times { |index| backend.set("key#{index}", "value") }
    assert_equal 5, backend.scan.count
    backend.clear
    assert_path_exists foreign
    assert_equal 0, backend.stats[:entries]
  end

  def test_what_was_written_since_it_was_seen_stays
    backend = build
    backend.set("rewritten", "old", 5)
    backend.set("used", "value")
    backend.set("ended", "value", 5)
    backend.set("deleted", "value")
    housekeeping = backend.instance_variable_get(:@housekeeping)
    seen = housekeeping.send(:survey, 256)
    backend.set("rewritten", "new")
    backend.delete("deleted")
    travel(1) { backend.instance_variable_get(:@folders).note_use(path_of("used"), Time.now.to_f, nil) }
    housekeeping.send(:remove, seen, 0, 0)
    assert_equal ["new".b, "value".b, nil], %w[rewritten used ended].map { |key| backend.get(key) }
  end

  def test_an_end_beyond_what_file_systems_know
    backend = build
    [1e20, Float::INFINITY, 400 * 365 * 86_400].each do |ttl|
      assert_equal true, backend.set("key", "value", ttl), ttl.to_s
      assert_equal "value".b, backend.get("key"), ttl.to_s
      assert_equal true, backend.touch("key", ttl), ttl.to_s
    end
    assert_equal 0, backend.cleanup
  end

  def test_a_folder_that_is_removed_during_a_write
    backend = build
    removals = 0
    root = @directory
    backend.instance_variable_get(:@folders).define_singleton_method(:write) do |temporary, head, bytes|
      super(temporary, head, bytes)
      FileUtils.rm_rf(File.join(root, "tiercel-v1")) if (removals += 1) == 2
    end
    assert_equal true, backend.set("key", "value")
    assert_equal "value".b, backend.get("key")
    assert_equal true, backend.set("key", "again")
    assert_operator removals, :>=, 3
    assert_equal "again".b, backend.get("key")
  end

  private

  def build(**) = Tiercel::Backends::File.new(@directory, timeout: 20, **)

  def entry_files = Dir["#{@directory}/tiercel-v1/??/#{"?" * 32}"].sort

  def path_of(key) = Tiercel::Backends::File::Layout.new(@directory).paths[key]

  def disk_bytes = Dir.glob("#{@directory}/**/*").sum { |file| File.lstat(file).blocks * 512 }
end
