# frozen_string_literal: true

require_relative "../support/lab_case"

class AnswerChoiceTest < LabCase
  Answer = Lab::Answer
  MEGABYTE = 1024 * 1024

  # @param spread [Float] half of the interval's width
  def candidate(text, us, spread: 0.01, margin: 0.02, **more)
    page_us = Lab::Statistics::Interval.new(us, us * (1 - spread), us * (1 + spread))
    Answer::Candidate.of({ "text" => text, "configuration" => "config.cache_store = #{text}" }, page_us:, margin:,
                         page_calls: 20.0, page_bytes: 50_000.0, **more)
  end

  def all
    { "memory_store" => 40, "tiercel:memory:" => 30, "tiercel:shared:" => 35, "file_store:disk" => 900,
      "tiercel:sqlite:" => 400, "mem_cache_store" => 2_000, "redis_cache_store" => 2_400,
      "tiercel:shared: redis:" => 60 }.map { |text, us| candidate(text, us) }
  end

  def choice(candidates = all, equality: true, **constraints)
    Answer::Choice.new(candidates, Answer::Constraints.new(**constraints), equality:)
  end

  def first(...) = choice(...).first&.text

  def test_the_cheapest_that_breaks_no_constraint
    assert_equal "tiercel:memory:", first
    assert_equal "tiercel:shared:", first(workers: 4)
    assert_equal "tiercel:shared:", first(workers: 4, survives: "restart")
    assert_equal "tiercel:sqlite:", first(workers: 4, survives: "reboot")
    assert_equal "tiercel:shared: redis:", first(machines: 2, workers: 4)
    assert_equal "tiercel:shared: redis:", first(machines: 2, survives: "reboot")
  end

  def test_a_page_that_does_not_fit_breaks_the_constraint_of_memory
    small = choice(workers: 4, memory_bytes: 40_000)
    assert_equal "tiercel:sqlite:", small.first.text
    reasons = small.broken.to_h { |one, reason| [one.text, reason] }
    assert_match(/does not fit/, reasons["tiercel:shared:"])
    assert_match(/needs at least 1.00 MB/, reasons["tiercel:shared: redis:"])
    assert_match(/each of 4 workers/, reasons["memory_store"])
    shared = candidate("tiercel:shared:", 1)
    assert_equal 18, shared.pages(Answer::Constraints.new(workers: 4, memory_bytes: MEGABYTE))
    private_pages = candidate("memory_store", 1).pages(Answer::Constraints.new(workers: 4, memory_bytes: MEGABYTE))
    assert_equal 5, private_pages
    assert_nil candidate("redis_cache_store", 1).pages(Answer::Constraints.new)
  end

  def test_nothing_that_differs_is_told_apart
    same = [candidate("tiercel:shared:", 100), candidate("file_store:disk", 100.5), candidate("tiercel:sqlite:", 300)]
    found = choice(same, workers: 2)
    refute_predicate found, :clear?
    assert_equal %w[file_store:disk], found.tied.map(&:text)
    wide = [candidate("tiercel:shared:", 100, spread: 0.5), candidate("file_store:disk", 150, spread: 0.5)]
    noisy = [candidate("tiercel:shared:", 100), candidate("file_store:disk", 106, margin: 0.1)]
    [wide, noisy].each { |all| refute_predicate choice(all, workers: 2), :clear? }
  end

  def test_a_trip_to_another_machine_counts
    found = choice(machines: 3)
    assert_in_delta 60 + (20 * 500 * 0.1), found.cost(found.first).estimate, 0.01
    assert_in_delta 2_000 + (20 * 500), found.cost(all.find { |one| one.text == "mem_cache_store" }).estimate, 0.01
    assert_in_delta 35, choice(workers: 2).then { |one| one.cost(one.first).estimate }, 0.01
  end

  # Trips to the user's own server were measured.
  def test_a_trip_to_the_users_server_counts_once
    own = candidate("own=redis://10.0.0.7:6379/0", 9_000)
    near = candidate("tiercel:shared: redis://10.0.0.7:6379/0", 50)
    found = choice([own, near], machines: 2)
    assert_in_delta 9_000, found.cost(own).estimate, 0.01
    assert_in_delta 50 + (20 * 500 * 0.1), found.cost(near).estimate, 0.01
  end

  COSTS = { "memory_store" => 40, "tiercel:memory:" => 30, "tiercel:shared:" => 35, "file_store:disk" => 900,
            "tiercel:sqlite:" => 400, "tiercel:shared: sqlite:" => 44, "solid_cache_store" => 3_170,
            "litecache" => 600, "mem_cache_store" => 2_000, "redis_cache_store" => 2_400,
            "tiercel:memcached:" => 1_500, "tiercel:redis:" => 1_600, "tiercel:shared: redis:" => 60,
            "tiercel:shared: memcached:" => 700 }.freeze

  # A run measures the stores that meet its constraints.
  def run_with(costs = COSTS, **constraints)
    suiting = Answer::Candidate.suiting(Answer::Constraints.new(**constraints))
    choice(suiting.map { |text| candidate(text, costs.fetch(text)) }, **constraints)
  end

  BASES = [{ workers: 4 }, { workers: 4, survives: "restart" }, { workers: 2, survives: "reboot" },
           { machines: 2, workers: 4 }, {}].freeze

  # For every pair: what the answer says is what a run with the other constraint chooses, or it says what to run.
  def test_what_would_change_the_answer_is_what_a_run_with_that_constraint_chooses
    pairs = BASES.flat_map do |base|
      [run_with(**base), choice(COSTS.map { |text, us| candidate(text, us) }, **base)].flat_map do |found|
        found.changes.map { |change| [found, change] }
      end
    end
    assert_operator pairs.size, :>=, 10
    pairs.each do |found, change|
      facts = change.constraints.to_h.except(:given)
      truth = run_with(**facts)
      if change.state == :unmeasured
        assert_equal change.names.sort, change.names.sort & Answer::Candidate.suiting(change.constraints)
      else
        assert_equal [:clear, [truth.first.text]], [change.state, change.names], "#{found.constraints} #{facts}"
      end
    end
    assert_includes pairs.map { |_, change| change.state }, :clear
    assert_includes pairs.map { |_, change| change.state }, :unmeasured
  end

  # On c8fa7d5a: "with --survives reboot, the first choice is file_store:disk", which costs 10 times as much.
  def test_a_store_that_was_not_measured_may_be_the_answer
    found = choice([candidate("tiercel:shared:", 35), candidate("file_store:disk", 2_050)], workers: 2)
    reboot = found.changes.find { |change| change.constraints.survives == "reboot" }
    assert_equal :unmeasured, reboot.state
    assert_empty ["tiercel:shared: sqlite:", *%w[solid_cache_store litecache tiercel:sqlite:]] - reboot.names
  end

  # A store in each of eight processes holds an eighth, and misses more often.
  def test_a_miss_has_a_cost_and_the_hit_ratio_counts
    page = Answer::Page::ASSUMED.with(reads: { "html-2kb" => 40.0 }, misses: 0.05, miss_us: 20_000.0,
                                      shrunk: [[0.125, 0.3], [1.0, 0.05]])
    assert_in_delta 0.05, page.misses_with(0.5)
    found = Answer::Choice.new(all, Answer::Constraints.new(workers: 8), page:)
    shared, memory = %w[tiercel:shared: memory_store].map { |text| all.find { |one| one.text == text } }
    assert_in_delta 35, found.cost(shared).estimate, 0.01
    assert_in_delta 40 + (40 * (0.3 - 0.05) * 20_000), found.cost(memory).estimate, 0.01
    assert_predicate found, :clear?, "misses that every store has hide no difference"
  end

  def broken(text, **constraints)
    candidate(text, 1).breaks(Answer::Constraints.new(**constraints))
  end

  # Files under /dev/shm are lost with the machine's power, wherever their store usually keeps them.
  def test_a_folder_in_memory_does_not_survive_a_reboot
    %w[file_store:/dev/shm/cache tiercel:file:/dev/shm/cache tiercel:sqlite:/dev/shm/cache.sqlite3 tiercel:file:
       tiercel:file:?size=8MB tiercel:file:#size=8MB].each do |text|
      assert_match(/reboot/, broken(text, survives: "reboot"), text)
    end
    assert_nil broken("file_store:/var/cache", survives: "reboot")
    assert_match(/reboot/, broken("redis_cache_store", survives: "reboot"))
    assert_nil broken("redis_cache_store:redis://10.0.0.7:6379/0", survives: "reboot")
  end

  def test_a_socket_belongs_to_one_machine
    assert_match(/each of 2 machines/, broken("tiercel:unix:/run/redis.sock", machines: 2))
    %w[mem_cache_store:/run/memcached.sock redis_cache_store:unix:///run/redis.sock].each do |text|
      assert_match(/each of 2 machines/, broken(text, machines: 2), text)
      assert_match(/reboot/, broken(text, survives: "reboot"), text)
    end
    %w[tiercel:redis://10.0.0.7 mem_cache_store:10.0.0.7:11211 redis_cache_store:redis://10.0.0.7].each do |text|
      assert_nil broken(text, machines: 2), text
    end
  end

  # Copies of other machines' values expire, or are deleted after a change, within seconds.
  def test_near_tiers_reach_as_far_as_their_last_tier
    assert_nil broken("tiercel:memory:?size=4MB redis:", machines: 2, workers: 4)
    assert_nil broken("tiercel:shared: memcached:", machines: 2, workers: 4)
    assert_nil broken("tiercel:shared: sqlite:", workers: 4, survives: "reboot")
    assert_match(/each of 2 machines/, broken("tiercel:shared: sqlite:", machines: 2))
  end

  def test_memory_that_a_store_takes
    facts = { workers: 2, memory_bytes: 64 * MEGABYTE }
    assert_match(/takes 512/, broken("tiercel:shared:#size=512MB", **facts))
    assert_match(/takes 512/, broken("tiercel:shared:?size=512MB redis:", **facts))
    assert_match(/takes 512/, broken("memory_store#size=536870912", **facts, workers: 1))
    assert_nil broken("tiercel:shared:#size=64MB", **facts)
    assert_nil broken("tiercel:sqlite:#size=512MB", **facts)
    assert_match(/takes 1/, broken("tiercel:shared:#size=1TB", **facts))
    assert_match(/takes 65/, broken("tiercel:shared:#size=65MiB", **facts))
    assert_match(/takes 256/, broken("tiercel:memory:?size=64MB redis:", **facts, workers: 4))
    assert_nil broken("tiercel:memory:?size=16MB redis:", **facts, workers: 4)
    assert_match(/takes 80/, broken("tiercel:shared:?size=64MB file:/dev/shm/a?size=16MB", **facts))
    assert_match(/no limit/, broken("tiercel:shared: file:/dev/shm/a?size=16MB", **facts))
    %w[file_store:tmpfs file_store:tmpfs#compress=false file_store:/dev/shm file_store:/dev/shm#a=1].each do |text|
      assert_match(/no limit/, broken(text, **facts), text)
    end
    assert_nil broken("file_store:/dev/shm2", **facts)
    large = candidate("tiercel:shared:", 1, entry_bytes: 1.2 * MEGABYTE)
    assert_match(/a value does not fit/, large.breaks(Answer::Constraints.new(memory_bytes: 4 * MEGABYTE)))
    assert_nil large.breaks(Answer::Constraints.new(memory_bytes: 8 * MEGABYTE))
  end

  # The line for the configuration keeps the memory that the user gave. An eighth of a segment is for the memo.
  def test_the_configuration_has_the_given_memory
    given = Answer::Constraints.new(workers: 2, memory_bytes: 72 * MEGABYTE, given: ["memory_bytes"])
    { ["tiercel:shared:", %(:tiercel_store, "shared:")] => %(:tiercel_store, "shared:", { size: "64MB" }),
      ["tiercel", ":tiercel_store"] => %(:tiercel_store, { size: "64MB" }),
      ["tiercel:shared:#size=8MB", %(:tiercel_store, "shared:", { size: "8MB" })] =>
        %(:tiercel_store, "shared:", { size: "8MB" }),
      ["tiercel:shared: redis:#namespace=a", %(:tiercel_store, "shared:", "redis://HOST:6379/0", { namespace: "a" })] =>
        %(:tiercel_store, "shared:?size=64MB", "redis://HOST:6379/0", { namespace: "a" }),
      ["tiercel:shared:?ttl=60 redis:", %(:tiercel_store, "shared:?ttl=60", "redis://HOST:6379/0")] =>
        %(:tiercel_store, "shared:?ttl=60&size=64MB", "redis://HOST:6379/0"),
      ["tiercel:sqlite:", %(:tiercel_store, "sqlite:a")] => %(:tiercel_store, "sqlite:a") }
      .each do |(text, line), expected|
        one = candidate(text, 1).with(line:)
        assert_equal expected, one.configuration(given)
        assert_equal line, one.configuration(given.with(given: []))
      end
  end

  # By default these stores have other sizes.
  def test_the_configuration_of_memory_in_each_process_always_has_the_size
    [[], ["memory_bytes"]].each do |given|
      constraints = Answer::Constraints.new(workers: 2, memory_bytes: 72 * MEGABYTE, given:)
      { ["memory_store", ":memory_store"] => ":memory_store, { size: 36.megabytes }",
        ["memory_store#a=1", ":memory_store, { a: 1 }"] => ":memory_store, { a: 1, size: 36.megabytes }",
        ["tiercel:memory:", %(:tiercel_store, "memory:")] => %(:tiercel_store, "memory:", { size: "32MB" }),
        ["tiercel:memory: redis:", %("memory:", "redis://HOST:6379/0")] =>
          %("memory:?size=32MB", "redis://HOST:6379/0") }.each do |(text, line), expected|
        assert_equal expected, candidate(text, 1).with(line:).configuration(constraints)
      end
    end
    small = Answer::Constraints.new(memory_bytes: MEGABYTE / 2)
    assert_equal "a, { size: 524288 }", candidate("memory_store", 1).with(line: "a").configuration(small)
  end

  def test_every_configuration_is_ruby
    texts = [*Answer::Candidate::ALL, "tiercel", "tiercel:memory: redis:", "tiercel:sqlite:/dev/shm/c", "litecache",
             "redis_cache_store:redis://10.0.0.7:6379/0"]
    texts.product(["", "#compress=false"], [[], ["memory_bytes"]], [72, 0.5]) do |text, options, given, size|
      contestant = Lab::Contestants.parse("#{text}#{options}").describe
      one = Answer::Candidate.of(contestant, page_us: nil)
      memory_bytes = (size * MEGABYTE).to_i
      line = one.configuration(Answer::Constraints.new(memory_bytes:, given:))
      assert RubyVM::InstructionSequence.compile(line), line
    end
  end

  # Random constraints and costs: the choice sees the costs with noise, and an exhaustive search over the true costs
  # judges it.
  def test_the_first_choice_is_within_five_percent_of_an_exhaustive_search
    random = Random.new(20_261_122)
    close = Array.new(200) do
      constraints = Answer::Constraints.new(machines: [1, 1, 2].sample(random:), workers: [1, 2, 8].sample(random:),
                                            survives: Answer::Constraints::SURVIVES.sample(random:))
      true_costs = all.map { |one| candidate(one.text, Math.exp(random.rand * 5) * 10) }
      seen = true_costs.map do |one|
        candidate(one.text, one.page_us.estimate * (1 + ((random.rand - 0.5) * 0.06)), spread: 0.03)
      end
      found, truth = [seen, true_costs].map { |candidates| Answer::Choice.new(candidates, constraints) }
      assert_nil found.first.breaks(constraints)
      chosen = truth.suiting.find { |one| one.text == found.first.text }
      truth.cost(chosen).estimate <= truth.cost(truth.first).estimate * 1.05
    end
    assert_operator close.count(true), :>=, 190
  end
end
