# frozen_string_literal: true
# suites: store

require "test_helper"
require "tiercel"
require "tiercel/top"
require "tiercel/lab/servers"

# The account of eight processes equals their calls, on every backend and over tiers.
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

  # Each process computes its own keys, reads them three times, and reads missing keys.
  #
  # @return [Array(Hash, Hash)] the expected counts, and this process' counts in the account
  def work(store, number)
    seen = { hits: 0, misses: 5, blocks: 0, deletes: 1 }
    KEYS.times { |index| compute(store, "kind:#{number}-#{index}", seen) }
    3.times { KEYS.times { |index| seen[store.read("kind:#{number}-#{index}") ? :hits : :misses] += 1 } }
    5.times { |index| store.read("nothing:#{number}-#{index}") }
    store.delete("kind:#{number}-0")
    store.account.flush
    [seen, store.account.own.slice(:hits, :misses, :blocks, :deletes, :writes)]
  end

  def compute(store, key, seen)
    store.fetch(key) do
      seen[:blocks] += 1
      seen[:misses] += 1
      { key: }
    end
  end

  def in_metrics(text, names) = names.to_h { |name| [name, text[/^tiercel_#{name}_total (\d+)$/, 1].to_i] }

  def sum(hashes) = hashes.reduce { |one, other| one.merge(other) { |_, a, b| a + b } }

  def test_the_account_of_the_machine_has_the_calls_of_all_processes
    each_place do |urls|
      store = Tiercel.new(*urls)
      seen, own = fork_and_wait(PROCESSES) { |number| work(store, number) }.transpose.map { |all| sum(all) }
      totals = store.account.totals
      assert_equal :machine, totals[:scope], urls.inspect
      assert_equal seen, totals.slice(*seen.keys), urls.inspect
      assert_equal own, totals.slice(*own.keys), urls.inspect
      assert_equal seen, Tiercel::Top.new(store.account).to_h[:totals].slice(*seen.keys), urls.inspect
      text = Tiercel::Metrics.to_prometheus(store)
      assert_equal seen.except(:deletes), in_metrics(text, seen.except(:deletes).keys), urls.inspect
      assert_equal seen.values_at(:hits, :misses), store.stats.values_at(:hits, :misses), urls.inspect
      assert_equal seen[:misses], store.account.classes(:hour).sum { |one| one[:misses] }, urls.inspect
    ensure
      store&.close
    end
  end

  # Over a server, each process has its own account, and the sum is the number of all calls.
  def test_the_figures_of_each_process_add_up
    servers = [Tiercel::Lab::Servers::Redis, Tiercel::Lab::Servers::Memcached].map { |server| server.new.start }
    [["memory:"], *servers.map { |server| [server.url] }].each do |urls|
      store = Tiercel.new(*urls)
      seen, own = fork_and_wait(PROCESSES) { |number| work(store, number) }.transpose.map { |all| sum(all) }
      assert_equal :process, store.account.scope
      assert_equal seen, own.except(:writes), urls.inspect
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
        writer.puts(Marshal.dump(work(store, 0).first).unpack1("H*"))
        sleep
      end
      writer.close
      seen = Marshal.load([reader.gets].pack("H*"))
      Process.kill(:KILL, child)
      Process.wait(child)
      assert_equal seen, store.account.totals.slice(*seen.keys), urls.inspect
    ensure
      reader&.close
      store&.close
    end
  end

  def test_a_child_of_a_process_that_has_counted_goes_on_with_its_own_figures
    each_place do |urls|
      store = Tiercel.new(*urls)
      before, own = work(store, 0)
      seen, own_of_child = fork_and_wait(1) { work(store, 1) }.first
      assert_equal [before, seen], [own, own_of_child].map { |figures| figures.except(:writes) }, urls.inspect
      assert_equal before[:misses] + seen[:misses], store.account.classes.sum { |one| one[:misses] }, urls.inspect
      assert_equal sum([before, seen]), store.account.totals.slice(*seen.keys), urls.inspect
    ensure
      store&.close
    end
  end

  # The classes and minutes of the parent are not the child's.
  def test_a_child_of_an_account_in_memory_begins_anew
    store = Tiercel.new("memory:")
    25.times { store.read("nothing") }
    assert_equal 25, store.account.classes.sum { |one| one[:misses] } # this round also writes a minute
    began = store.account.totals[:since]
    misses, since, *rest = travel(120) { fork_and_wait(1) { child_of_memory(store) }.first }
    assert_equal [1, 1, [0, 0, 0, 1]], [misses, *rest]
    assert_operator since, :>=, began + 120
    assert_equal [25, began], store.account.totals.values_at(:misses, :since)
    grandchild = fork_and_wait(1) { fork_and_wait(1) { child_of_memory(store) }.first }.first
    assert_equal 1, grandchild.first
  ensure
    store&.close
  end

  def child_of_memory(store)
    store.read("nothing")
    account = store.account
    [*account.totals.values_at(:misses, :since), account.classes.sum { |one| one[:misses] },
     account.minutes(4).map { |minute| minute[:misses] }]
  end

  def test_an_account_whose_file_is_removed_begins_anew
    each_place do |urls|
      store = Tiercel.new(*urls)
      store.read("nothing")
      File.delete(store.account.path)
      # Each second begins a round; a round that does not get the file's lock at once leaves it to the next one.
      rounds = (2..60).find do |second|
        travel(second) { store.read("nothing") }
        File.exist?(store.account.path)
      end
      assert rounds, urls.inspect
      travel(rounds) { 2.times { store.read("nothing") } }
      assert_includes 2..3, Tiercel.new(*urls).account.totals[:misses], urls.inspect
    ensure
      store&.close
    end
  end

  # No call of the cache fails because of its figures.
  def test_an_account_whose_bytes_were_altered
    random = Random.new(1)
    damages = [->(file) { file.pwrite(random.bytes(file.size - 4_096), 4_096) },
               ->(file) { file.pwrite("\xFF" * (file.size - 8), 8) },
               ->(file) { file.pwrite(random.bytes(24_000), 4_096) },
               ->(file) { file.truncate(10_000) }]
    damages.each_with_index do |damage, index|
      with_tmpdir do |dir|
        store = Tiercel.new("file:#{dir}")
        store.fetch("users/1") { 1 }
        File.open(store.account.path, "r+b", &damage)
        assert_empty store.account.classes.map { |one| one[:name] } - ["*/*"], index # the readers come first
        assert_equal 60, store.account.minutes(60).size
        3.times do |round|
          travel(2 + (round * 60)) { assert_equal 2, store.fetch("posts/#{round}") { 2 }, index }
        end
        travel(200) { assert_includes store.account.classes.map { |one| one[:name] }, "*/*", index }
      ensure
        store&.close
      end
    end
  end

  def test_a_segment_whose_counters_were_altered
    with_tmpdir do |dir|
      store = Tiercel.new("shared:#{dir}/segment", size: "2MB")
      [2**62, -1].each_with_index do |word, index|
        File.open(store.account.path, "r+b") { |file| file.pwrite([word].pack("q<") * 100, 128) } if index.positive?
        File.open("#{dir}/segment", "r+b") { |file| file.pwrite([word].pack("q<") * 16_000, 4_096) }
        3.times do |round|
          travel(2 + (index * 600) + (round * 60)) { assert_equal 2, store.fetch("posts/#{index}/#{round}") { 2 } }
        end
      end
      assert_kind_of Integer, store.account.totals[:hits]
    ensure
      store&.close
    end
  end

  def test_a_segment_that_is_made_anew_keeps_the_account
    with_tmpdir do |dir|
      store = Tiercel.new("shared:#{dir}/segment")
      first = work(store, 0).first
      travel(2) { store.read("nothing") } # begins a round
      Tiercel::Segment.replace("#{dir}/segment", bytes: 4 << 20)
      second = travel(4) { work(store, 1).first }
      travel(6) { store.read("nothing") }
      totals = store.account.totals
      assert_equal [first[:hits] + second[:hits], first[:misses] + second[:misses] + 2],
                   totals.values_at(:hits, :misses)
    ensure
      store&.close
    end
  end
end
