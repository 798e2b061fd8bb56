# frozen_string_literal: true

# suites: insight*

require "test_helper"
require "rack"
require "active_support/cache/tiercel_store"
require "tiercel/insight"

# Every store: totals equal the load, classes show no private part, files of processes are added up.
class CollectorTest < Tiercel::TestCase
  SECRETS = Array.new(2_500) { |index|
    ["user#{index}@example.com", "tok#{index}x9f8e7d6c5b4a", "81.20.#{index % 256}.#{index}",
     "my-slug-number-#{index}-here"]
  }.flatten.push(*("Zebaa".."Zebzz")).freeze # names of one key each, of which a busy process times a part

  def teardown = Tiercel::Insight.stop

  def stores(folder)
    { "memory store" => ActiveSupport::Cache::MemoryStore.new,
      "file store" => ActiveSupport::Cache::FileStore.new("#{folder}/rails"),
      "memory:" => Tiercel.new("memory:", size: "16MB"),
      "shared:" => Tiercel.new("shared:#{folder}/segment", size: "16MB"),
      "file:" => Tiercel.new("file:#{folder}/files"), "sqlite:" => Tiercel.new("sqlite:#{folder}/cache.sqlite3"),
      "tiers" => Tiercel.new("shared:#{folder}/near", "sqlite:#{folder}/last.sqlite3") }
  end

  def each_store
    with_tmpdir do |folder|
      stores(folder).each_with_index do |(name, store), index|
        @folder = "#{folder}/insight-#{index}"
        Tiercel::Insight.start(store, folder: @folder)
        yield name, store
        Tiercel::Insight.stop
        store.close if store.respond_to?(:close)
      end
    end
  end

  def test_totals_equal_the_load
    each_store do |name, store|
      20.times { |index| store.fetch("products/#{index}") { index } }
      20.times { |index| store.fetch("products/#{index}") { flunk } }
      5.times { |index| store.read("nothing/#{index}") }
      store.write("plain", 1)
      assert_equal 1, store.read("plain")
      store.increment("count")
      assert_equal "1", store.read("count", raw: true).to_s
      store.read_multi("products/1", "products/2", "absent")
      store.fetch_multi("absent") { 1 }
      store.delete_multi(%w[products/1 absent])
      totals = Tiercel::Insight.figures.totals
      assert_equal [24, 27, 21, 23, 2], totals.values_at(:hits, :misses, :blocks, :writes, :deletes), name
      Tiercel::Insight::Doctor.new({ "cache" => store }).examine
      assert_equal totals, Tiercel::Insight.figures.totals, "the doctor changes no figure of #{name}"
    end
  end

  # One store that sends events, and one that counts in its segment. The log, the page and the metrics, too.
  def test_no_secret_in_a_file_or_a_report
    logger = ActiveSupport::Cache::Store.logger
    # Rails' stores log whole keys at DEBUG.
    ActiveSupport::Cache::Store.logger = Logger.new(log = StringIO.new, level: Logger::INFO)
    stores(dir).slice("memory store", "shared:").each do |name, store|
      Tiercel::Insight.start(store, folder: "#{dir}/insight-#{name[0]}")
      SECRETS.each { |secret| store.fetch("account:#{secret}:profile") { 1 } && store.read("#{secret}/show") }
      Tiercel::Insight.collector.flush
      shown = everything_shown(store, "#{dir}/insight-#{name[0]}") + log.string
      SECRETS.each { |secret| refute_includes shown, secret, name }
      assert_includes shown, "account:*:profile", name
    end
  ensure
    ActiveSupport::Cache::Store.logger = logger
  end

  def everything_shown(store, folder)
    summary = Tiercel::Insight::Summary.new(store)
    environment = Rack::MockRequest.env_for("/", "HTTP_HOST" => "localhost")
    [summary.to_text, summary.to_h, summary.profile, Tiercel::Insight::Metrics.to_prometheus(store),
     Tiercel::Insight::Web.new(store:, protected_by: :routes).call(environment).last.join,
     *Dir["#{folder}/*"].map { |path| File.binread(path) }].map { |text| text.to_s.b }.join
  end

  # Two workers. A Zipf law over 59 classes that share a word; 50,000 slugs of two keys each, whose blocks cost as
  # much as many classes, or no time worth a measurement.
  def test_the_costliest_classes_are_found_beside_many_slugs
    letters = ->(number) { number.to_i.to_s(26).tr("0-9a-p", "a-z") }
    { ActiveSupport::Cache::MemoryStore.new(namespace: "app") => 3_000_000,
      Tiercel.new("memory:", size: "16MB") => 6_000 }.each do |store, slug_ns|
      backend = store.backend if store.respond_to?(:backend)
      workers = Array.new(2) { Tiercel::Insight::Collector.new(store, "#{dir}/#{backend}") }
      random, costs = Random.new(1), Hash.new(0)
      105_000.times do |at|
        slug = "my-#{letters[at / 2]}" if at % 21 > 0
        part = slug ? "*:#{%w[body title][at % 2]}" : "kind_#{letters[60**random.rand]}:*:lines"
        time = slug ? slug_ns * (5 + (at % 2)) / 5 : random.rand(1_000_000..30_000_000)
        costs[name = "#{"app:" unless backend}#{part}"] += time
        worker, key = workers[at / 2 % 2], name.sub("*", slug || at.to_s)
        worker.untimed?(backend, Process.pid) || worker.computed(backend, key, time)
        workers.each(&:flush) if at % 2_000 == 1_999
      end
      workers.each(&:flush)
      assert_operator workers.first.instance_variable_get(:@classes).values.first.size, :<=, 1_000
      figures = Tiercel::Insight::Figures.new("#{dir}/#{backend}")
      expected = [*costs.max_by(10) { |_, time| time }.map(&:first), "#{"app:" unless backend}*:*:lines"]
      assert_equal expected, [*figures.classes.first(10), figures.classes.last].map { |one| one[:name] }
      assert_equal [105_000] * 2, [figures.totals[:blocks], figures.classes.sum { |one| one[:misses] }], store
      assert_in_epsilon costs.values.sum / 1e9, figures.totals[:block_seconds], 0.02
      assert_in_epsilon costs.values.sum / 1e9, figures.classes.sum { |one| one[:seconds] }, 0.02
    end
  end

  # Two workers with one cache: each computes half of the keys of a class, and a class has fewer than 20 keys there. The
  # workers forget cheap classes, because of slugs that are as expensive.
  def test_two_workers_add_up_the_keys_that_share_a_word
    workers = Array.new(2) { Tiercel::Insight::Collector.new(ActiveSupport::Cache::MemoryStore.new, dir) }
    slugs = ("my-aaaa".."my-zzzz").each
    26.times do |at|
      (worker = workers[at % 2]).computed(nil, "reports/#{at}/lines", 30_000_000)
      12.times { |n| worker.computed(nil, "late/#{at}/page?#{n}", 30_000_000) } if at > 23
      1_020.times { |n| worker.computed(nil, n < 20 ? "notes/#{slugs.next}/body" : slugs.next, 1_000_000) }
      worker.flush
    end
    workers.each(&:flush)
    found = Tiercel::Insight::Figures.new(dir).classes.to_h { |one| one.values_at(:name, :misses) }
    assert_equal [26, 520, 26_000, 24], found.values_at("reports/*/lines", "notes/*/body", "*", "late/*/page?*")
    refute_match(/my-/, Dir["#{dir}/*"].map { |path| File.binread(path) }.join)
  end

  def test_a_word_needs_twenty_keys_and_private_parts_are_none
    show = Tiercel::Insight::KeyClass::Words.new.method(:show?)
    assert_equal [*[false] * 19, true], Array.new(20) { |at| 99.times.map { show["rare", at] }.last }
    assert_empty(["user12345", "x" * 40, "12", "a@b.c"].select { |part| Array.new(30) { |at| show[part, at] }.any? })
    assert_equal "*/" * 12 + "*", Tiercel::Insight::KeyClass.new.of((1..20).map { |at| "s#{at}@x" }.join("/"))
  end

  # A few records stand for many short blocks, and trivial ones are not even timed. A Zipf law over 99 classes.
  def test_a_flood
    Tiercel::Insight.start(store = Tiercel.new("memory:", size: "16MB"), folder: dir)
    Array.new(3) { |at| Thread.new { 5_000.times { |index| store.fetch("#{at}/#{index}") { 1 } } } }.each(&:join)
    assert_equal 15_000, Tiercel::Insight.figures.totals[:blocks]
    collector, costs, random = Tiercel::Insight.collector, Hash.new(0), Random.new(1)
    collector.instance_variable_get(:@thread).kill.join
    collector.instance_variable_set(:@random, Random.new(2))
    200_000.times do |index|
      rank = (100**random.rand).to_i - 1
      costs[name = "kind_#{rank.to_s(26).tr("0-9a-p", "a-z")}"] += time = (rank.even? ? 50_000 : 500) + random.rand(500)
      collector.untimed?(store.backend, Process.pid) || collector.computed(store.backend, "#{name}/#{index}", time)
      next if index % 5_000 < 4_999
      assert_operator collector.instance_variable_get(:@blocks).size, :<, 4 * 2_000, "records of 5,000 blocks"
      collector.flush
    end
    found = Tiercel::Insight.figures.classes.to_h { |one| [one[:name].delete_suffix("/*"), one] }
    assert_equal 215_000, found.sum { |_, one| one[:misses] }
    costliest = costs.max_by(10) { |_, cost| cost }.to_h
    assert_operator (costliest.keys & found.keys.first(10)).size, :>=, 9
    costliest.first(2).each { |name, cost| assert_in_epsilon cost / 1e9, found[name][:seconds], 0.15 }
  end

  # A segment also counts reads that no caller made: of tags and of leases.
  def test_a_segment_counts_the_reads_of_its_callers
    store = Tiercel.new("memory:", size: "8MB")
    Tiercel::Insight.start(store, folder: dir)
    store.write("a", 1, version: "1")
    store.exist?("a")                                        # no read
    store.exist?("b")                                        # no read
    store.read("a", version: "2")                            # a miss
    store.fetch("t", tags: %w[x y]) { 1 }                    # a miss
    store.fetch("t", tags: %w[x y]) { 1 }                    # a hit
    store.invalidate_tags("x")
    store.fetch_multi("t", "u", tags: %w[x y]) { 1 }         # two misses
    store.read("t", delete: true)                            # a hit
    store.fetch_multi("f", "g", force: true) { 1 }           # no read
    store.fetch("f", force: true) { 1 }
    other = Tiercel.new("memory:", size: "8MB")
    other.fetch("other") { 1 }
    other.exist?("other")
    assert_equal [2, 4, 6], Tiercel::Insight.figures.totals.values_at(:hits, :misses, :blocks)
    store.fetch("without a lease", lease: false) { 1 }
    assert_equal [2, 5, 7], Tiercel::Insight.figures.totals.values_at(:hits, :misses, :blocks)
  end

  def test_hostile_keys
    keys = ["", " ", "\0", "\xFF\xFE".b, "a\u202Eb", "é" * 1_000, "x" * 10_000, "/" * 500, ":::", "\e[2J",
            "\u{1F600}", 5, :a, ["a", nil], { "b" => 1 }]
    each_store do |name, store|
      keys.each do |key|
        store.fetch(key) { 1 }
        store.read(key)
      rescue ArgumentError # no store accepts an empty key
      end
      refute_match(/\e/, Tiercel::Insight::Summary.new(store).to_text, name) # raises if the encoding is invalid
    end
  end

  def test_processes_are_added_up_and_a_killed_one_loses_only_its_last_seconds
    store = ActiveSupport::Cache::MemoryStore.new
    Tiercel::Insight.start(store, folder: dir)
    assert Thread.list.find { |one| one.name == "tiercel-insight" }.thread_variable_get(:fork_safe), "Puma would warn"
    store.fetch("parent") { 1 }
    fork_and_wait(3) do
      100.times { |index| store.fetch("child/#{index}") { 1 } }
      Tiercel::Insight.collector.flush
      nil
    end
    pid = fork do
      50.times { |index| store.fetch("killed/#{index}") { 1 } }
      Tiercel::Insight.collector.tap(&:flush).instance_variable_get(:@thread).kill.join # it would flush once more
      store.read("lost")
      Process.kill(:KILL, Process.pid)
    end
    Process.wait(pid)
    assert_equal 351, Tiercel::Insight.figures.totals[:misses]
    travel(-60) { Tiercel::Insight::ProcessFile.fold(dir) }
    assert_equal 5, Dir["#{dir}/*.reads"].size, "the files are too young"
    kept = Dir["#{dir}/#{pid}-*"].to_h { |path| [path, File.binread(path)] }
    2.times do # an addition that was interrupted is repeated
      kept.each { |path, bytes| File.binwrite(path, bytes) }
      travel(60) { Tiercel::Insight::ProcessFile.fold(dir) }
    end
    assert_equal 351, Tiercel::Insight.figures.totals[:misses]
    assert_equal 1, Dir["#{dir}/*.reads"].size
  end

  # A hit of a segment is so cheap that the first sample has to be small. With few keys, it grows.
  def test_the_share_of_a_segment_follows_the_load
    store = Tiercel.new("memory:", size: "16MB")
    collector = Tiercel::Insight.start(store, folder: dir)
    collector.instance_variable_get(:@thread).kill.join # it would flush in the midst of a load
    100.times { |index| store.fetch("few/#{index}") { 1 } }
    collector.flush
    assert_in_delta 1 / 1_024.0, Tiercel::Insight.figures.sample[1], 0.0001
    [11, 22, 33, 44, 55].each { |later| travel(later) { collector.flush } }
    100.times { |index| store.read("few/#{index}") }
    reads, share, counted = Tiercel::Insight.figures.sample
    assert_equal 0.5, share
    assert_includes 20..80, reads.size
    assert_operator counted[:reads], :<=, 100, "reads from before the last share are no part of the sample"
    100.times { 100.times { |index| store.read("few/#{index}") } }
    collector.flush
    assert_operator Tiercel::Insight.figures.sample[1], :<, 0.25, "too many reads"
    travel(90) { collector.flush }
    assert_operator Tiercel::Insight.figures.sample[1], :<, 0.25, "and no way back"
  end

  def test_checkpoints_cover_the_sample_evenly
    collector = Tiercel::Insight.start(store = ActiveSupport::Cache::MemoryStore.new, folder: dir, share: 1.0)
    1_000.times do |round|
      (round < 300 ? 30 : 7).times { |at| store.fetch("a/#{(round * 7) + at}") { 1 } }
      collector.flush
    end
    reads, _, counted = Tiercel::Insight.figures.sample
    assert_in_delta reads.drop(counted[:warm]).count { |read| !read.hit? }, counted[:misses], 30
  end

  def test_damaged_files_and_words_that_cannot_be_shared_are_left_out
    Tiercel::Insight.start(store = ActiveSupport::Cache::MemoryStore.new, folder: dir)
    store.read("a")
    damaged = ["{", '{"figures":{"hits":"x"},"ring":{"written":3}}', "\xFF\x00"]
    damaged.each_with_index { |text, at| File.binwrite("#{dir}/#{at}-bad.json", text) }
    # A stopped process holds the lock of the words; then nobody can open their file, as one of another user.
    held = File.new("#{dir}/words", File::RDWR | File::CREAT).tap { |words| words.flock(File::LOCK_EX) }
    assert_equal [1, 1], Tiercel::Insight.figures.then { |one| [one.totals[:misses], one.sample.last[:reads]] }
    File.unlink(held) && Dir.mkdir(held.path)
    store.read("b")
    assert_equal 2, Tiercel::Insight.figures.totals[:misses]
  end

  def test_fragments_and_several_names_of_another_store_are_timed
    Tiercel::Insight.start(ActiveSupport::Cache::MemoryStore.new, folder: dir)
    key = ["views", "products/show:#{"a" * 32}", "products/7"]
    { "read" => [5.0, 5.5], "write" => [7.0, 7.5] }.each do |name, (start, finish)|
      ActiveSupport::Notifications.publish("#{name}_fragment.action_controller", start, finish, "id", { key: })
    end
    one = Tiercel::Insight.figures.classes.first
    assert_match(%r{\Aviews/products/show:\*/}, one[:name])
    assert_equal [1.5, 1.5], one.values_at(:seconds, :longest_seconds).map { |seconds| seconds.round(3) }
    # Of an earlier `read_multi`, only the names that a `fetch_multi` computes lose their time.
    [["read", 8.0, 9.0, %w[a b], :fetch_multi], ["read", 10, 10.5, %w[c d]], ["write", 12, 13, { "c" => 1, "d" => 2 }],
     ["read", 21.0, 22.0, %w[a b e]], ["read", 23.0, 27.0, %w[e f], :fetch_multi], ["write", 27.0, 27.5, %w[e f]],
     ["write", 29.0, 29.5, %w[a b]]].each do |name, at, to, key, super_operation|
      ActiveSupport::Notifications.publish("cache_#{name}_multi.active_support", at, to, 1, { key:, super_operation: })
    end
    assert_equal [9, 11.0], Tiercel::Insight.figures.totals.values_at(:blocks, :block_seconds)
  end

  def test_memory_is_bounded_and_files_are_the_users_own
    collector = Tiercel::Insight.start(store = ActiveSupport::Cache::MemoryStore.new, folder: "#{dir}/own")
    40_000.times { |index| store.read("key/#{index}") }
    collector.flush
    assert_operator Dir["#{dir}/own/*"].sum { |path| File.size(path) }, :<=, 1 << 20
    modes = Dir["#{dir}/{own,own/*}"].map { |path| format("%o", File.stat(path).mode & 0o777) }
    assert_equal %w[600 700], modes.uniq.sort
  end
end
