# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache"
require "active_support/cache/tiercel_store"
require "support/small_volume"
require_relative "disk_rows"

# The rows of docs/failures.md for `file:`: every failure is a miss and a report, never another exception.
class FileFaultsTest < Tiercel::TestCase
  include DiskRows

  NOBODY = 65_534

  def test_damaged_files_are_absent
    backend = build
    { "empty" => "", "foreign" => "something else" * 10, "short" => nil, "cut" => nil }.each do |key, content|
      backend.set(key, Random.bytes(100_000))
      content ? File.binwrite(path_of(key), content) : File.truncate(path_of(key), key == "cut" ? 60_000 : 20)
      assert_nil backend.get(key), key
      assert_nil backend.get_with_token(key), key
      assert_equal false, backend.delete(key), key
      assert_equal true, backend.add(key, "value"), key
      assert_equal "value".b, backend.get(key), key
    end
  end

  def test_a_folder_that_is_removed_is_made_anew
    backend = build
    backend.set("key", "value")
    FileUtils.rm_rf(dir)
    assert_nil backend.get("key")
    assert_equal true, backend.set("key", "again")
    assert_equal 1, backend.increment("counter")
    assert_equal "again".b, build.get("key")
  end

  # Each process removes the lock's file between two changes, while the others wait for it.
  def test_counters_stay_exact_when_the_lock_is_removed
    peers = 3.times.map { build(timeout: 20) }
    lock = Tiercel::FileLock.new("#{dir}/tiercel-v1/lock", 20)
    fork_and_wait(3) do |index|
      50.times { |round| round == 10 ? lock.hold { |file| File.unlink(file) } : peers[index].increment("counter") }
      nil
    end
    assert_equal 147, build.get("counter").to_i
  end

  def test_damaged_locks_cost_no_entry
    backend = build
    100.times { |index| backend.set("old #{index}", "value") }
    Dir[File.join(dir, "**", "lock")].each { |path| File.binwrite(path, Random.new(1).bytes(200)) }
    100.times { |index| assert_equal true, backend.set("new #{index}", "value") }
    assert_equal 200, backend.get_multi(%w[old new].product((0...100).to_a).map { |pair| pair.join(" ") }).size
    assert_operator backend.stats[:bytes], :<, 100 * 1024 * 1024
    assert_equal 0, backend.stats[:evictions]
  end

  def test_what_killed_writers_leave_is_removed
    backend = build(timeout: 20)
    pids = 4.times.map { |index| fork { write_forever(index) } }
    wait_until("writes", within: 30) { backend.get("counter").to_i > 50 }
    pids.each { |pid| Process.kill(:KILL, pid) && Process.wait(pid) }
    leftover = File.join(File.dirname(path_of("key")), ".new-999-abcd")
    FileUtils.mkdir_p(File.dirname(leftover))
    File.binwrite(leftover, "x" * 1_000)
    count = backend.get("counter").to_i
    assert_equal count + 1, backend.increment("counter")
    2_000.times { |index| backend.set("again#{index % 20}", "value") }
    assert_empty Dir.glob("#{dir}/**/.new-*", File::FNM_DOTMATCH)
    assert_in_delta Dir["#{dir}/tiercel-v1/??/*"].size, backend.stats[:entries], 1
  end

  def test_a_full_disk
    skip "mounting needs root" unless SmallVolume.available?
    SmallVolume.open("2m") do |volume|
      store = build_store(volume, size: "64MB")
      results = nil
      reports = capture_reports do
        results = Array.new(60) { |index| store.write("key#{index}", Random.bytes(100_000)) }
      end
      assert_includes results, nil
      assert_equal [Tiercel::Refused], reports.map { |report| report.error.class }.uniq
      assert_equal 100_000, store.read("key0").bytesize
      assert_empty Dir.glob("#{volume}/**/.new-*", File::FNM_DOTMATCH)
    end
  end

  def test_a_read_only_file_system
    skip "mounting needs root" unless SmallVolume.available?
    SmallVolume.open("4m") do |volume|
      build(volume).tap { |backend| backend.set("key", "value".b) }.close
      SmallVolume.read_only(volume)
      store = build_store(volume)
      assert_equal "value".b, store.backend.get("key")
      reports = capture_reports do
        assert_nil store.write("key", "value")
        assert_equal false, store.delete("key")
      end
      assert_equal [Tiercel::Refused], reports.map { |report| report.error.class }.uniq
    end
  end

  # Root may write everywhere, so the process becomes another user first.
  def test_a_folder_that_is_not_ours
    build.get("key") # another user cannot load our code
    Tiercel.eager_load!
    File.chmod(0o555, dir)
    answers = fork_and_wait(1) do
      Process::UID.change_privilege(NOBODY) if Process.uid.zero?
      [build.get("key"), begin
        build.set("key", "value")
      rescue Tiercel::Refused => error
        error.class.name
      end]
    end
    assert_equal [[nil, "Tiercel::Refused"]], answers
  ensure
    File.chmod(0o700, dir)
  end

  def test_a_place_that_cannot_be
    place = File.join(dir, "file")
    File.write(place, "")
    backend = build(place)
    assert_raises(Tiercel::Unavailable) { backend.get("key") }
    assert_raises(Tiercel::BackendError) { backend.set("key", "value") }
  end

  private

  def build(place = dir, **) = Tiercel::Backends::File.new(place, **)

  def build_store(place = dir, **) = ActiveSupport::Cache.lookup_store(:tiercel_store, "file:#{place}", **)

  def path_of(key)
    digest = Digest::MD5.hexdigest(key)
    "#{dir}/tiercel-v1/#{digest[0, 2]}/#{digest}"
  end

  def write_forever(index)
    backend = build(timeout: 20)
    loop do
      backend.increment("counter")
      backend.set("key#{index}.#{rand(100)}", Random.bytes(rand(50_000)))
    end
  end

  def lock
    Dir["#{dir}/tiercel-v1/lock"].map do |lock|
      File.open(lock, "r+").tap { |file| file.flock(File::LOCK_EX) }
    end
  end
end
