# frozen_string_literal: true

# suites: kernel

require "test_helper"
require "timeout"
require "tiercel/segment"

# Long operations release the GVL, can be interrupted by Timeout and signals, and may run concurrently with a fork
# or the same operation in another thread.
class SegmentLongWorkTest < Tiercel::TestCase
  # Zeroing this many bytes takes long enough to be interrupted.
  LARGE = 768 << 20
  # Iterating over this many entries takes tens of milliseconds.
  ENTRIES = 400_000

  def setup
    super
    skip "other threads need an idle CPU: --long" unless long?
    skip "[environment] 1 GB of /dev/shm" if Tiercel::Segment.free_bytes("/dev/shm") < 2 * LARGE
    @directory = Dir.mktmpdir("tiercel-long-", "/dev/shm")
    @path = File.join(@directory, "segment")
  end

  def teardown
    @segment&.close
    FileUtils.remove_entry(@directory) if @directory
    super
  end

  def test_other_threads_run_while_a_file_is_made_and_while_its_memory_is_given_back
    assert_ticks("open") { open }
    assert_ticks("replace") { Tiercel::Segment.replace(@path, bytes: LARGE / 2) }
    assert_equal LARGE / 2, @segment.size_bytes
  end

  def test_a_timeout_ends_the_making_of_a_file_which_leaves_nothing
    assert_raises(Timeout::Error) { Timeout.timeout(0.05) { open } }
    assert_equal %w[segment.lock], Dir.children(@directory)
    assert_equal true, open(4 << 20).set("key", "value")
  end

  def test_a_signal_is_handled_while_a_file_is_made
    happened = Queue.new
    previous = trap("USR2") { happened << :signal }
    sender = Thread.new { sleep(0.05) && Process.kill(:USR2, Process.pid) }
    open
    happened << :made
    assert_equal :signal, happened.pop(timeout: 60)
  ensure
    sender.join && sleep(0.05)
    trap("USR2", previous || "DEFAULT")
  end

  def test_threads_that_make_one_file_share_it
    ids = Array.new(4) { Thread.new { Tiercel::Segment.open(@path, bytes: LARGE / 4).tap { |one| one.set("k", "v") } } }
               .map(&:value)
    assert_equal 1, ids.map(&:file_id).uniq.size
    assert_equal %w[segment segment.lock], Dir.children(@directory).sort
    ids.each(&:close)
  end

  # Otherwise a request would wait for seconds, or restart the work after each timeout.
  def test_a_large_file_that_is_lost_is_made_again_in_the_background
    segment = open
    segment.set("key", "value")
    File.unlink(@path)
    errors = []
    wait_until("a new file", within: 60) do
      segment.get("key").nil?
    rescue Tiercel::Unavailable => error
      errors << error.class
      Timeout.timeout(5) { refute_path_exists @path } if errors.size == 1
      nil
    end
    assert_equal LARGE, segment.size_bytes
    assert_equal 1, errors.count(Tiercel::Unavailable), "one report"
    assert_equal true, segment.set("key", "value")
    File.unlink(@path) # repeats this during a fork, whose child lacks that thread
    wait_until("its loss") { refused { segment.get("key") } }
    fork_and_wait(1) { wait_until("a new file", within: 60) { !refused { segment.set("child", "value") } } }
    wait_until("a new file", within: 60) { !refused { segment.get("key") } }
  end

  # The child has neither the thread nor its locks.
  def test_a_fork_while_another_thread_makes_a_file
    maker = Thread.new { open }
    sleep(0.02)
    pid = fork do
      segment = Tiercel::Segment.open(@path, bytes: LARGE)
      exit!(segment.set("child", "value") ? 0 : 1)
    end
    maker.join
    Process.wait(pid)
    assert_predicate $?, :success?
    assert_equal "value", @segment.get("child")
  end

  def test_other_threads_run_during_passes_over_all_entries
    fill
    { scan: -> { @segment.scan("nothing") { flunk } },
      scan_all: -> { @segment.scan { |key| key } },
      clear_prefix: -> { @segment.clear_prefix("nothing") } }.each do |name, pass|
      assert_ticks(name, attempts: 5, &pass)
    end
  end

  private

  def refused
    yield
    false
  rescue Tiercel::Unavailable
    true
  end

  def open(bytes = LARGE, **) = @segment = Tiercel::Segment.open(@path, bytes:, **)

  def fill(entries = ENTRIES)
    open(64 << 20, average_entry_bytes: 64)
    entries.times { |index| @segment.set("k#{index}", "v") }
    assert_operator @segment.stats[:entries], :>, entries / 2
  end

  # Asserts that another thread ran during a call; on a busy machine this may need several attempts.
  def assert_ticks(what, attempts: 1)
    ticks = 0
    ticker = Thread.new { sleep(0.0005) && (ticks += 1) while true }
    during = attempts.times.map do
      Thread.pass until ticks.positive?
      before = ticks
      yield
      ticks - before
    end
    assert_operator during.max, :>=, 2, "#{what}: other threads stood still"
  ensure
    ticker&.kill
  end
end
