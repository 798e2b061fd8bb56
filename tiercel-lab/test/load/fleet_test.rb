# frozen_string_literal: true

require_relative "../support/lab_case"

class LoadFleetTest < LabCase
  # Runs a block with a fleet of herd members.
  class Planted < Lab::Load::Trial
    def initialize(count, &block)
      super(seed: 1, requires: [LabCase::PLANTED])
      @count, @block = count, block
    end

    def measure
      rows << Tiercel::Lab::Engine::Outcome.of do
        with_fleet(@count, path: "tables/herd/member") { |fleet| @block.call(fleet, @scratch.folders) }
      end
    end
  end

  def outcome(count, &)
    trial = Planted.new(count, &)
    trial.run(progress)
    trial.rows.first
  end

  def open(fleet, folders, text)
    fleet.open(text:, label: "f", threads: 1) do |index|
      { index:, context: { servers: {}, folders:, label: "f", shared: index.positive? } }
    end
  end

  def test_processes_share_a_store_and_each_answers
    found = outcome(2) do |fleet, folders|
      open(fleet, folders, "tiercel:file:")
      fleet.first(1).call("write", key: "k")
      { makers: fleet.call("read", key: "k").map { |read| read["maker"] }, pids: fleet.jobs.map(&:pid).uniq.size }
    end
    assert_equal ["measured", %w[old old], 2], found.values_at("status", "makers", "pids"), found["reason"].inspect
  end

  def test_a_process_that_dies_is_a_reason
    assert_equal "cannot run", outcome(2) { |fleet, folders| open(fleet, folders, "planted_dying") }["status"]
  end

  def test_processes_in_a_long_call_end_soon_after_a_signal
    pids = []
    assert_raises(SignalException) do
      outcome(3) do |fleet, folders|
        open(fleet, folders, "tiercel:memory:")
        pids = fleet.jobs.map(&:pid)
        later = Lab::Load::Fleet.soon(900)
        fleet.jobs.each { |job| job.send_call("fetch", key: "k", at: later, block_ms: 1, options: {}) }
        @began = Tiercel::Clock.monotonic
        raise SignalException, "TERM"
      end
    end
    assert_operator Tiercel::Clock.monotonic - @began, :<, 300
    assert_equal 3, pids.count { |pid| assert_raises(Errno::ESRCH) { Process.kill(0, pid) } }
  end

  # The entries of a user's server stay. A server of the lab ends with the run.
  def test_names_in_a_place_of_the_users_are_deleted
    skip "Redis is not installed" unless Lab::Servers::Redis.installed?
    Lab::Servers::Redis.run do |server|
      keys = -> { ActiveSupport::Cache::RedisCacheStore.new(url: server.url).redis.with { |redis| redis.dbsize } }
      found = outcome(2) do |fleet, folders|
        open(fleet, folders, "redis_cache_store:#{server.url}")
        %w[a b c].each { |key| fleet.call("write", key:) }
        { keys: keys.call }
      end
      assert_equal ["measured", 3], found.values_at("status", "keys"), found["reason"].inspect
      assert_equal 0, keys.call
    end
  end

  def test_a_shared_folder_is_left_as_it_is
    contexts = Array.new(2) do
      Lab::Engine::Context.new(servers: {}, folders: { "disk" => dir }, label: "x", shared: true)
    end
    File.write(File.join(contexts.first.directory, "kept"), "")
    assert_equal ["kept"], Dir.children(contexts.last.directory)
    contexts.each(&:clean_up)
    assert_equal ["kept"], Dir.children(contexts.last.directory)
  end
end
