# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache/tiercel_store"

# `shared:` over `sqlite:` on one machine: the state after processes were paused or killed.
class TiersRacesTest < Tiercel::TestCase
  def setup
    @dir = Dir.mktmpdir("tiercel-tiers-")
  end

  def teardown
    @store&.close
    FileUtils.rm_rf(@dir)
  end

  def build_store(**options)
    ActiveSupport::Cache::TiercelStore.new("shared:#{@dir}/segment?size=4MB&ttl=600", "sqlite:#{@dir}/cache.sqlite3",
                                           timeout: 20, **options)
  end

  def store = @store ||= build_store

  # Runs code during one call to the last tier.
  def around_far(store, method, before: nil, after: nil)
    far = store.backend.last
    far.define_singleton_method(method) do |*arguments|
      singleton_class.send(:remove_method, method)
      before&.call
      result = super(*arguments)
      after&.call
      result
    end
  end

  def test_a_read_that_is_held_up_while_another_process_writes
    store.write("key", "old")
    store.backend.near.forget(["key"])
    around_far(store, :get, after: lambda {
      fork_and_wait(1) { build_store.write("key", "new") }
    })
    assert_equal "old", store.read("key")
    assert_equal "new", store.read("key")
    assert_equal ["new"], fork_and_wait(1) { build_store.read("key") }
  end

  def test_a_read_that_is_held_up_while_another_process_deletes
    store.write("key", "old")
    store.backend.near.forget(["key"])
    around_far(store, :get_multi, after: -> { fork_and_wait(1) { build_store.delete("key") } })
    assert_equal({ "key" => "old" }, store.read_multi("key"))
    assert_nil store.read("key")
  end

  def test_delete_matched_finds_copies_of_what_the_last_tier_has_evicted
    @store = build_store(namespace: "app")
    store.write_multi({ "a key" => 1, "other" => 2 })
    store.read_multi("a key", "other")
    store.backend.last.clear
    store.delete_matched("a*")
    assert_nil store.read("a key")
    assert_equal 2, store.read("other")
  end

  def killed(&)
    pid = fork do
      yield build_store
      exit!(1)
    end
    _, status = Process.wait2(pid)
    assert_equal Signal.list["KILL"], status.termsig
  end

  def kill_me = -> { Process.kill(:KILL, Process.pid) && sleep }

  # Killed between the change in the farther and in the near tier, while other processes were reading.
  def test_a_writer_that_is_killed_between_the_tiers
    reads = -> { fork_and_wait(1) { build_store.read("key") } }
    { set: ->(other) { other.write("key", "new") }, delete: ->(other) { other.delete("key") },
      set_multi: ->(other) { other.write_multi({ "key" => "new", "other" => 1 }) },
      clear: ->(other) { other.clear } }.each do |method, call|
      store.write("key", "old")
      assert_equal "old", store.read("key")
      killed do |other|
        around_far(other, method, before: -> { reads.call }, after: kill_me)
        call.call(other)
      end
      expected = %i[set set_multi].include?(method) ? "new" : nil
      expected.nil? ? assert_nil(store.read("key"), method) : assert_equal(expected, store.read("key"), method)
    end
  end

  # A reader has read the last tier before the change, and fills the near tier after the writer's death.
  def test_a_fill_after_the_death_of_the_writer
    store.write("key", "old")
    store.backend.near.forget(["key"])
    begun, go = IO.pipe, IO.pipe
    writer = fork do
      other = build_store
      around_far(other, :set, before: -> { begun[1].write("x") && go[0].read(1) }, after: kill_me)
      other.write("key", "new")
      exit!(1)
    end
    begun[0].read(1)
    around_far(store, :get, after: -> { go[1].write("x") && Process.wait(writer) })
    assert_equal "old", store.read("key")
    assert_equal "new", store.read("key")
  ensure
    [begun, go].flatten.each(&:close)
  end

  # Four processes write, delete and read values that only grow; each is repeatedly killed. A read must return at
  # least the value written before it began, and nothing that was deleted before.
  def test_processes_that_are_killed_again_and_again
    floor = ::File.join(@dir, "written")
    ::File.binwrite(floor, [0].pack("Q") * 4)
    store.close
    @store = nil
    deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + (long? ? 60 : 3)
    failures = ::File.join(@dir, "failures")
    pids = Array.new(4) { |index| start(index, floor, failures) }
    kills = 0
    while Process.clock_gettime(Process::CLOCK_MONOTONIC) < deadline
      sleep(rand(0.02..0.1))
      Process.kill(:KILL, pids.sample) if rand(3).zero?
      pids.each_with_index do |pid, index|
        next unless Process.wait(pid, Process::WNOHANG)
        pids[index] = start(index, floor, failures)
        kills += 1
      end
    end
    pids.each { |pid| Process.kill(:KILL, pid) && Process.wait(pid) }
    refute_path_exists failures, (::File.read(failures) if ::File.exist?(failures))
    assert_operator kills, :>, 5
    assert_operator ::File.binread(floor).unpack("Q*").min, :>, 0
  end

  # Sometimes the process dies after the last tier has made the change, and records its death.
  def dying_between_the_tiers(store)
    %i[set set_multi delete compare_and_set].each do |method|
      store.backend.last.define_singleton_method(method) do |*arguments|
        super(*arguments).tap do |done|
          yield && Process.kill(:KILL, Process.pid) && sleep if done && rand(50).zero?
        end
      end
    end
  end

  # Each process changes one of four keys and reads all of them.
  def start(index, floor, failures)
    fork do
      other = build_store
      file = ::File.open(floor, "r+b")
      # A killed process may have written a value without recording it.
      number = file.pread(8, index * 8).unpack1("Q") + 10
      dying_between_the_tiers(other) { file.pwrite([number].pack("Q"), index * 8) }
      loop do
        number += 1
        stored = case number % 5
                 when 0 then other.write_multi({ "key #{index}" => number.to_s, "other #{index}" => "x" })
                 when 1 then other.delete("key #{index}") || true
                 when 2 then other.fetch("key #{index}", force: true) { number.to_s }
                 else other.write("key #{index}", number.to_s)
                 end
        file.pwrite([number].pack("Q"), index * 8) if stored
        8.times do
          key = rand(4)
          least = file.pread(8, key * 8).unpack1("Q")
          found = rand(2).zero? ? other.read("key #{key}") : other.read_multi("key #{key}")["key #{key}"]
          next if found.nil? || found.to_i >= least
          ::File.write(failures, "key #{key}: #{found} where #{least} had been written\n", mode: "a")
        end
      end
    rescue Exception => error # rubocop:disable Lint/RescueException
      ::File.write(failures, "#{error.full_message}\n", mode: "a")
      exit!(1)
    end
  end
end
