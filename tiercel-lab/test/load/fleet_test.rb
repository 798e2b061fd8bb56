# frozen_string_literal: true

require_relative "../support/lab_case"

class LoadFleetTest < LabCase
  # Runs a block within a trial's fleet.
  class Planted < Lab::Load::Trial
    def initialize(count, &block)
      super(seed: 1, requires: [LabCase::PLANTED])
      @count, @block = count, block
    end

    def measure
      rows << attempt { with_fleet(@count) { |fleet| @block.call(fleet, @scratch.folders) } }
    end
  end

  class Progress
    def advance(*); end
    def say(*); end
  end

  def outcome(count, &)
    trial = Planted.new(count, &)
    trial.run(Progress.new)
    trial.rows.first
  end

  def open(fleet, folders, text, **more)
    fleet.open(text:, entries: { label: "f", value: "rows-50", seed: 1 }, **more) do |index|
      { context: { servers: {}, folders:, label: "f", shared: index.positive? } }
    end
  end

  def test_processes_share_a_store_and_each_answers
    found = outcome(2) do |fleet, folders|
      open(fleet, folders, "tiercel:file:", filled: true)
      reads = fleet.call("drive", operation: "read", arrivals: { requests: 40, at: Lab::Load::Fleet.soon })
      { hits: reads.map { |read| read["hits"] }, pids: fleet.pids.uniq.size }
    end
    assert_equal ["measured", [40, 40], 2], found.values_at("status", "hits", "pids"), found["reason"].inspect
  end

  def test_a_process_that_dies_and_a_value_that_is_wrong_are_reasons
    assert_equal "cannot run", outcome(2) { |fleet, folders| open(fleet, folders, "planted_dying") }["status"]
    missed = outcome(1) do |fleet, folders|
      open(fleet, folders, "null_store")
      fleet.call("drive", operation: "read", arrivals: { requests: 5 })
    end
    assert_equal ["misses", "5 of 5 requests found nothing"], missed.values_at("status", "reason")
    wrong = outcome(1) { |fleet, folders| open(fleet, folders, "planted_wrong", filled: true) }
    assert_equal "wrong values", wrong["status"]
  end

  def test_every_call_that_a_load_names
    found = outcome(1) do |fleet, folders|
      open(fleet, folders, "tiercel:memory:", filled: true)
      hits = %w[read write exist_and_fetch].map do |operation|
        fleet.call("drive", operation:, arrivals: { requests: 7 }).first["hits"]
      end
      { hits: }
    end
    assert_equal [7], found["hits"].uniq, found["reason"].inspect
  end

  def test_processes_in_a_long_call_end_soon_after_a_signal
    pids = []
    began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    assert_raises(SignalException) do
      outcome(3) do |fleet, folders|
        open(fleet, folders, "tiercel:memory:", filled: true)
        pids = fleet.pids
        later = Lab::Load::Fleet.soon(120)
        fleet.jobs.each { |job| job.send_call("drive", operation: "read", arrivals: { requests: 1, at: later }) }
        raise SignalException, "TERM"
      end
    end
    assert_operator Process.clock_gettime(Process::CLOCK_MONOTONIC) - began, :<, 60
    assert_equal 3, pids.count { |pid| assert_raises(Errno::ESRCH) { Process.kill(0, pid) } }
  end

  # The entries of a user's server stay. A server of the lab ends with the run.
  def test_names_in_a_place_of_the_users_are_deleted
    skip "Redis is not installed" unless Lab::Servers::Redis.installed?
    Lab::Servers::Redis.run do |server|
      keys = -> { ActiveSupport::Cache::RedisCacheStore.new(url: server.url).redis.with { |redis| redis.dbsize } }
      found = outcome(2) do |fleet, folders|
        open(fleet, folders, "redis_cache_store:#{server.url}", filled: true)
        { keys: keys.call }
      end
      assert_equal ["measured", 100], found.values_at("status", "keys"), found["reason"].inspect
      assert_equal 0, keys.call
    end
  end
end
