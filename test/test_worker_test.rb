# frozen_string_literal: true
# suites: store*

require "test_helper"
require "active_support/cache/tiercel_store"
require "tiercel/lab/servers"

# Each test runs in separate processes, because a process cannot stop being a worker.
class TestWorkerTest < Tiercel::TestCase
  # An application's tests use a cache while other workers do the same.
  TRIPS = lambda do |store, index|
    25.times do |round|
      store.clear
      5.times { store.increment("count") }
      store.write("name", [index, round])
      store.write("name", [index, round], namespace: "other")
      seen = [store.read("count", raw: true).to_i, store.read("name"), store.read("name", namespace: "other")]
      seen << store.read_multi("name", "none") << store.fetch("name") { :another }
      store.delete_matched(/nam/)
      seen << store.read("name") << store.exist?("count")
      mine = [index, round]
      expected = [5, mine, mine, { "name" => mine }, mine, nil, true]
      raise "#{store.inspect}: #{seen.inspect} in place of #{expected.inspect}" unless seen == expected
    end
    :alone
  end

  def test_workers_of_one_segment_do_not_see_each_other
    with_tmpdir { |directory| assert_workers_alone("shared:#{directory}/segment", size: "8MB") }
  end

  def test_a_worker_leaves_no_files
    %w[sqlite:%s/cache file:%s/cache].each do |url|
      with_tmpdir do |directory|
        store = Tiercel.new(format(url, directory))
        tiers = Tiercel.new("shared:#{directory}/segment?size=1MB", format(url, "#{directory}/deep"))
        store.write("name", "of the application")
        before = Dir.glob("#{directory}/**/*").sort
        in_worker(4) do
          store.write("name", "of the worker")
          tiers.write("name", "of the worker")
          raise "no files" if Dir.glob("#{directory}/**/*").grep(/cache-4/).empty?
          Tiercel::TestWorker.leave
        end
        assert_equal before, Dir.glob("#{directory}/**/*").sort - ["#{directory}/deep"]
        assert_equal "of the application", store.read("name")
      end
    end
  end

  def test_workers_of_one_server_do_not_see_each_other
    Tiercel::Lab::Servers::Redis.run do |server|
      assert_workers_alone(server.url, timeout: 20)
      assert_workers_alone(server.url, namespace: "app", timeout: 20)
      assert_workers_alone(server.url, namespace: -> { "app" }, timeout: 20)
    end
  end

  def test_nothing_of_a_worker_stays_on_a_server
    Tiercel::Lab::Servers::Redis.run do |server|
      store = Tiercel.new(server.url, timeout: 20)
      store.write("of the application", 1)
      in_worker(7) do
        store.write("mine", 1)
        Tiercel::TestWorker.leave
      end
      assert_equal 1, store.stats[:entries]
      assert_equal 1, store.read("of the application")
    end
  end

  def test_a_worker_begins_with_nothing
    store = Tiercel.new("sqlite:#{dir}/cache")
    in_worker(1) { store.write("left", 1) }
    assert_nil(in_worker(1) { store.read("left") })
  end

  def test_copies_and_stores_that_are_built_later_are_the_workers_too
    Tiercel::Lab::Servers::Redis.run do |server|
      store = Tiercel.new(server.url, timeout: 20)
      copy = store.dup
      seen = in_worker(3) do
        later = Tiercel.new(server.url, timeout: 20)
        store.write("name", "of 3")
        [copy.read("name"), later.read("name"), store.namespace]
      end
      assert_equal ["of 3", "of 3", "test-worker-3"], seen
      assert_nil store.read("name")
    end
  end

  def test_a_namespace_that_is_set_later_is_within_the_workers
    Tiercel::Lab::Servers::Redis.run do |server|
      store = Tiercel.new(server.url, timeout: 20)
      keys = in_worker(2) do
        store.namespace = "tenant"
        store.write("a", 1)
        store.namespace = nil
        store.write("b", 1)
        store.backend.scan.to_a.sort
      end
      assert_equal %w[test-worker-2:b test-worker-2:tenant:a], keys
    end
  end

  def test_the_process_that_is_no_worker_leaves_nothing
    store = Tiercel.new("memory:")
    store.write("name", 1)
    Tiercel::TestWorker.leave
    assert_equal 1, store.read("name")
    assert_nil Tiercel::TestWorker.number
  end

  def test_a_store_that_cannot_be_built_any_more_is_named
    said, number, warning = fork_and_wait(1) do
      gone = Tiercel.new("null:")
      def gone.reopen(*) = raise(Tiercel::ConfigurationError, "no such folder")
      store = Tiercel.new("memory:")
      $stderr = StringIO.new
      Tiercel::TestWorker.enter(1)
      [gone.inspect, store.increment("n"), $stderr.string]
    end.first
    assert_equal 1, number
    assert_includes warning, "#{said} stays unchanged: no such folder"
  end

  private

  # Collects stores that other tests have left.
  def setup = GC.start

  def assert_workers_alone(url, **options)
    store = Tiercel.new(url, **options)
    store.write("kept", 1)
    results = fork_and_wait(3) do |index|
      Tiercel::TestWorker.enter(index)
      TRIPS.call(store, index)
    end
    assert_equal %i[alone alone alone], results
    assert_equal 1, store.read("kept"), "a worker has cleared the application's own"
  end

  def in_worker(number)
    fork_and_wait(1) do
      Tiercel::TestWorker.enter(number)
      yield
    end.first
  end
end
