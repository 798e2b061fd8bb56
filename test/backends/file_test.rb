# frozen_string_literal: true
# suites: kernel

require "test_helper"
require "contracts/backend_contract"

class FileBackendTest < Tiercel::TestCase
  include Tiercel::Contracts::BackendContract

  def before_setup
    super
    dir(memory_folder)
  end

  # Uses a long timeout: these tests check results on a busy machine; test/faults/ checks the time budget.
  def build_backend(**) = Tiercel::Backends::File.new(dir, timeout: 20, **)

  def build_peer = build_backend

  def test_entries_are_their_owners_and_have_safe_names
    ["../../escape", "a/b", "\0", "nul", "CON", "ü" * 2_000].each { |key| backend.set(key, "value") }
    files = Dir["#{dir}/tiercel-v1/??/*"]
    assert_equal 6, files.size
    assert(files.all? { |file| File.basename(file).match?(/\A\h{32}\z/) })
    assert_equal [0o600], files.map { |file| File.stat(file).mode & 0o777 }.uniq
    assert_equal ["tiercel-v1"], Dir.children(dir)
  end

  def test_other_files_stay_whatever_is_removed
    backend.set("key", "value", 5)
    digest = "3f" + "0" * 30
    foreign = ["notes.txt", "3F1/key", digest, ".new-1-ab", "tiercel-v1/notes.txt", "tiercel-v1/3f/#{"n" * 32}",
               "tiercel-v1/3f/#{"notes of thirty-two letters".ljust(32, ".")}", "tiercel-v1/3f/.new-notes",
               "tiercel-v1/3f/#{digest}/inside", "tiercel-v1/3f/#{"F" * 32}"].map { |name| File.join(dir, name) }
    foreign.each do |path|
      FileUtils.mkdir_p(File.dirname(path))
      File.write(path, "mine")
    end
    later(10) { backend.cleanup }
    assert_empty backend.scan.to_a
    bounded = Tiercel::Backends::File.new(dir, size: "4MB", timeout: 20)
    1_500.times { |index| bounded.set("key#{index}", "value") }
    [bounded, backend].each(&:clear)
    assert_empty backend.scan.to_a
    assert_equal ["mine"], foreign.map { |path| File.read(path) }.uniq
  end

  def test_another_users_folder_where_everybody_may_write_is_refused
    skip "giving files away needs root" unless Process.uid.zero?
    File.chmod(0o1777, dir)
    early = build_backend
    Dir.mkdir(root = File.join(dir, "tiercel-v1"))
    File.chown(65_534, 65_534, root)
    message = /tiercel-v1 belongs to user 65534, this process runs as 0, and everybody may write to #{dir}/
    assert_match(message, assert_raises(Tiercel::ConfigurationError) { build_backend }.message)
    assert_match(message, assert_raises(Tiercel::Refused) { early.get("key") }.message)
    assert_match(message, assert_raises(Tiercel::Refused) { early.set("key", "value") }.message)
    File.chown(0, 0, root)
    assert_equal true, early.set("key", "value")
  end

  def test_a_process_remembers_the_digests_of_few_short_keys
    digests = Class.new { include(Tiercel::Backends::Disk) && public(:digests) }.new.digests(&:bytesize)
    keys = Array.new(20_000) { |index| "key#{index}" } << "k" * 2_000
    assert_equal keys.map(&:bytesize), keys.map { |key| digests[key] }
    assert_equal [true, false], [digests.size < 10_000, digests.key?(keys.last)]
  end

  def test_the_key_in_the_file_decides
    backend.set("one", "value")
    FileUtils.mkdir_p(File.dirname(path_of("two")))
    FileUtils.cp(path_of("one"), path_of("two"))
    assert_nil backend.get("two")
    assert_equal false, backend.delete("two")
    assert_equal true, backend.add("two", "its own")
    assert_equal "its own".b, backend.get("two")
  end

  def test_size_is_held_after_writing_ten_times_as_much
    [[400, 3_000, 30], [20_000, 200_000, 60]].each do |smallest, largest, megabytes|
      bounded = build_backend(size: "6MB")
      used = fill(bounded, megabytes * 1024**2, smallest..largest, Random.new(7))
      assert_operator used.max, :<=, 6 * 1024**2 * 1.05, "#{smallest}..#{largest} bytes"
      assert_operator used.last, :>=, 6 * 1024**2 * 0.7, "#{smallest}..#{largest} bytes"
      bounded.clear
      assert_equal 0, bounded.stats[:entries]
    end
  end

  def test_the_ledger_follows_every_change
    backend.set("one", "x" * 10_000)
    backend.set("one", "x")
    backend.add("two", "x")
    backend.increment("three")
    backend.increment("three")
    backend.delete("two")
    assert_equal({ entries: 2, bytes: 8_192 }, backend.stats.slice(:entries, :bytes))
  end

  def test_a_sweep_corrects_the_ledger
    50.times { |index| backend.set("key#{index}", "value") }
    FileUtils.rm(Dir["#{dir}/tiercel-v1/??/*"].first(20))
    assert_equal 50, backend.stats[:entries]
    1_200.times { backend.set("again", "value") } # enough rounds for a visit of every folder
    assert_equal 31, backend.stats[:entries]
  end

  def test_cleanup_drops_what_has_ended
    50.times { |index| backend.set("key#{index}", "value", index < 30 ? 5 : nil) }
    later(10) { assert_equal 30, backend.cleanup }
    assert_equal 20, backend.stats[:entries]
  end

  def test_writes_drop_what_has_ended
    50.times { |index| backend.set("old#{index}", "value", 5) }
    later(10) do
      2_000.times { |index| backend.set("new#{index % 10}", "value") }
      assert_equal 10, Dir["#{dir}/tiercel-v1/??/*"].size
    end
  end

  private

  # On ext4, replacing a file waits for the disk.
  def memory_folder = File.writable?("/dev/shm") ? "/dev/shm" : nil

  def path_of(key)
    digest = Digest::MD5.hexdigest(key)
    "#{dir}/tiercel-v1/#{digest[0, 2]}/#{digest}"
  end

  def fill(backend, bytes, sizes, random)
    written = index = 0
    used = []
    while written < bytes
      value = random.bytes(random.rand(sizes))
      backend.set("key#{index += 1}", value)
      written += value.bytesize
      used << disk_bytes if (index % 500).zero?
    end
    used << disk_bytes
  end

  def disk_bytes
    Dir.glob("#{dir}/**/*").sum { |file| File.lstat(file).blocks * 512 }
  end
end
