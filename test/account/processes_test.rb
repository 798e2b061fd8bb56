# frozen_string_literal: true
# suites: store*

require "test_helper"
require "tiercel"
require "tiercel/lab/servers"

# The figures of eight processes are those of their calls, on every backend and on stacks.
class AccountProcessesTest < Tiercel::TestCase
  PROCESSES = 8
  KEYS = 30

  def each_place
    with_tmpdir do |dir|
      yield ["shared:#{dir}/segment"]
      yield ["file:#{dir}/files"]
      yield ["sqlite:#{dir}/cache.sqlite3"]
      yield ["shared:#{dir}/near", "sqlite:#{dir}/far.sqlite3"]
      yield ["shared:#{dir}/front", "file:#{dir}/behind"]
    end
  end

  # Each process computes its own keys, reads them three times over, and others that are not there.
  def work(store, number)
    KEYS.times { |index| store.fetch("kind:#{number}-#{index}") { { index: } } }
    3.times { KEYS.times { |index| store.read("kind:#{number}-#{index}") } }
    5.times { |index| store.read("nothing:#{number}-#{index}") }
    store.delete("kind:#{number}-0")
    store.account.flush
    store.account.own
  end

  def expected(processes = PROCESSES)
    { hits: 3 * KEYS, misses: KEYS + 5, blocks: KEYS, writes: KEYS, deletes: 1 }
      .transform_values { |one| one * processes }
  end

  def test_the_account_of_the_machine_has_the_calls_of_all_processes
    each_place do |urls|
      store = Tiercel.new(*urls)
      own = fork_and_wait(PROCESSES) { |number| work(store, number) }
      totals = store.account.totals
      assert_equal :machine, totals[:scope], urls.inspect
      assert_equal expected, totals.slice(*expected.keys), urls.inspect
      assert_equal expected, expected.keys.to_h { |name| [name, own.sum { |one| one[name] }] }, urls.inspect
      assert_equal expected[:misses], store.account.classes(:hour).sum { |one| one[:misses] }, urls.inspect
    ensure
      store&.close
    end
  end

  # Over a server each process has figures of its own, whose sum are all calls.
  def test_the_figures_of_each_process_add_up
    servers = [Tiercel::Lab::Servers::Redis, Tiercel::Lab::Servers::Memcached].map { |server| server.new.start }
    [["memory:"], *servers.map { |server| [server.url] }].each do |urls|
      store = Tiercel.new(*urls)
      own = fork_and_wait(PROCESSES) { |number| work(store, number) }
      assert_equal :process, store.account.scope
      assert_equal expected, expected.keys.to_h { |name| [name, own.sum { |one| one[name] }] }, urls.inspect
    ensure
      store&.close
    end
  ensure
    servers&.each(&:stop)
  end

  def test_a_process_that_is_killed_takes_no_call_with_it
    each_place do |urls|
      store = Tiercel.new(*urls)
      reader, writer = IO.pipe
      child = fork do
        reader.close
        work(store, 0)
        writer.write("done")
        sleep
      end
      writer.close
      assert_equal "done", reader.read(4)
      Process.kill(:KILL, child)
      Process.wait(child)
      assert_equal expected(1), store.account.totals.slice(*expected.keys), urls.inspect
    ensure
      reader&.close
      store&.close
    end
  end

  def test_a_segment_that_is_made_anew_keeps_the_account
    with_tmpdir do |dir|
      store = Tiercel.new("shared:#{dir}/segment")
      work(store, 0)
      travel(2) { store.read("nothing") } # begins a round
      Tiercel::Segment.replace("#{dir}/segment", bytes: 4 << 20)
      travel(4) { work(store, 1) }
      travel(6) { store.read("nothing") }
      totals = store.account.totals
      assert_equal [expected(2)[:hits], expected(2)[:misses] + 2], totals.values_at(:hits, :misses)
    ensure
      store&.close
    end
  end
end
