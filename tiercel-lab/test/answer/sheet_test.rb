# frozen_string_literal: true

require_relative "../support/lab_case"
require_relative "../support/canned"

class AnswerSheetTest < LabCase
  Answer = Lab::Answer
  NS = { "memory_store" => 3_000, "tiercel:shared:" => 1_000, "file_store:disk" => 60_000,
         "redis_cache_store" => 120_000 }.freeze
  TWO_WORKERS = { "machines" => 1, "workers" => 2, "memory_bytes" => 64 * 1024 * 1024, "survives" => "nothing",
                  "given" => [] }.freeze

  def results(times = NS, constraints: TWO_WORKERS, values: %w[html-2kb rows-50], operations: %w[read write])
    cells = values.product(operations).flat_map do |value, operation|
      Canned.cells(compare(*times.keys, operation:, value:), times)
    end
    Canned.results(command: "compare", cells:, constraints:).tap do |found|
      found["cells"].each { |cell| cell["exact"] = { "allocations" => 1, "stored_bytes" => 2_000 } }
    end
  end

  def sheet(found = results) = Answer.of(found, found["constraints"], program: "bin/lab")

  def check_size(lines)
    assert_operator lines.grep_v(/config\.cache_store/).map(&:length).max, :<=, 80, lines.join("\n")
  end

  def test_it_fits_and_says_what_was_asked_for
    lines = sheet.lines
    check_size(lines)
    text = lines.join("\n")
    assert_match(/\AFor 1 machine, 2 workers, 64\.0 MB of memory, surviving no restart \(suggested/, text)
    assert_match(/^tiercel:shared: is the first choice: 21\.0 us of cache work a page; 1\.26 ms with$/, text)
    assert_match(/^- tiercel:shared: +21\.0 us a page +1,420 pages in memory$/, text)
    assert_match(/^  config\.cache_store = :tiercel_store, "shared:"$/, text)
    refute_match(/^- memory_store/, text)
    assert_match(/^- with --machines 2: not measured; bin\/lab --quick --machines 2$/, text)
    assert_match(/^- with --workers 1: not measured; bin\/lab --quick --workers 1 --machines 1$/, text)
    assert_match(/^- with --survives reboot: not measured; bin\/lab --quick --survives reboot$/, text)
    assert_match(/^Left out: memory_store \(each of 2 workers has its own\)\.$/, text)
  end

  def test_the_answer_is_about_the_store_that_the_reader_has
    found = results.merge("now" => "redis_cache_store")
    text = sheet(found).lines.join(" ").squeeze(" ")
    check_size(sheet(found).lines)
    assert_match(/21\.0 us of cache work a page, 2\.52 ms with redis_cache_store now: 2\.50 ms less\./, text)
    private_now = sheet(results.merge("now" => "memory_store")).lines.join(" ").squeeze(" ")
    assert_match(/with memory_store now: 42\.0 us less/, private_now)
    assert_match(%r{Memory of 8 workers: bin/lab switch --quick --from memory_store}, private_now)
    rows = { "tiercel:shared:" => [400e6, nil], "redis_cache_store" => [420e6, 9e6] }.map do |store, (bytes, server)|
      { "store" => store, "bytes" => bytes, "trimmed" => bytes / 2, "server_bytes" => server }
    end
    found["tables"] = [{ "name" => "workers", "rows" => rows, "notes" => { "workers" => 8, "entries" => 2_000 } }]
    assert_includes sheet(found).lines.join(" "),
                    "2,000 entries of 2 KB: 381 MB (191 MB after malloc_trim) with tiercel:shared:, 401 MB (200 MB " \
                    "after malloc_trim) and 8.58 MB of its server with redis_cache_store now."
    equal = sheet(results(NS.merge("memory_store" => 1_000)).merge("now" => "memory_store")).lines.join(" ")
    assert_match(/with memory_store now: this run cannot tell them apart/, equal.squeeze(" "))
    tied = sheet(results(NS.merge("file_store:disk" => 1_000)).merge("now" => "redis_cache_store")).sentence
    assert_match(/\ACannot tell which is cheapest: \S+ or \S+\. \S+ takes 21\.0 us .* now: 2\.50 ms less\.\z/, tied)
    own = sheet(results.merge("now" => "tiercel:shared:")).sentence
    assert_match(/\Atiercel:shared: is the first choice, and your store of now: 21\.0 us/, own)
  end

  # A store in the process has CPU time, a server wall time, which other programs stretch.
  def test_no_cost_comes_from_a_ratio_of_wall_time_and_a_baseline_of_cpu_time
    found = results.merge("now" => "redis_cache_store")
    of_servers = found["cells"].select { |cell| cell["clock"] == "wall" && cell.dig("summary", "mean_ratio") }
    of_servers.each { |cell| cell["summary"]["mean_ratio"].transform_values! { |ratio| ratio / 2 } }
    assert_match(/2\.52 ms with redis_cache_store now/, sheet(found).sentence)
  end

  def test_a_command_for_another_constraint_keeps_the_page_and_the_data_of_the_reader
    found = results
    found["run"]["arguments"] = %w[--quick --profile page.yml --seed 7 --data=files --survives restart]
    lines = Lab::Tables.report(found, program: "bin/lab").answer.lines
    assert_includes lines, "- with --machines 2: not measured;"
    assert_includes lines, "  bin/lab --profile page.yml --data=files --quick --machines 2"
  end

  def test_the_store_of_an_application_is_read_as_text
    { ":redis_cache_store, { url: ENV['X'] }" => "redis_cache_store", ":solid_cache_store" => "solid_cache_store",
      ":tiercel_store, \"sqlite:storage/c.sqlite3\"" => "tiercel:sqlite:", ":tiercel_store, ENV[\"CACHE\"]" => nil,
      ":tiercel_store, { size: \"1GB\" }" => "tiercel", ":tiercel_store, size: \"1GB\"" => "tiercel",
      ":tiercel_store, \"shared:app?size=1GB\",\n    'rediss://a:b@c:1/0'" => "tiercel:shared: redis:",
      ":tiercel_store" => "tiercel", ":my_store" => nil }.each do |line, store|
      with_tmpdir do |folder|
        FileUtils.mkdir_p(File.join(folder, "config/environments"))
        File.write(File.join(folder, Answer::Now::FILE), "  # x\n  config.cache_store = #{line}\n")
        store ? assert_equal(store, Answer::Now.found(folder), line) : assert_nil(Answer::Now.found(folder))
      end
    end
    with_tmpdir { |folder| assert_nil Answer::Now.found(folder) }
    assert_equal "file_store:disk", Answer::Now.named("file_store")
  end

  PROFILE = { "version" => 1, "reads_per_request" => 30, "miss_ratio" => 0.1, "miss_ms" => 12.5,
              "bytes" => { "p10" => 900, "p20" => 910, "p30" => 21_000, "p40" => 21_000, "p50" => nil },
              "worth" => [{ "factor" => 0.125, "miss_ratio" => 0.4 }] }.freeze

  def page(facts)
    with_tmpdir do |folder|
      path = File.join(folder, "page.yml")
      File.write(path, YAML.dump(facts))
      Answer::Page.read(path)
    end
  end

  def test_a_page_of_the_readers
    found = page(PROFILE)
    assert_equal({ "html-1kb" => 15.0, "html-24kb" => 15.0 }, found.reads)
    assert_in_delta 0.1, found.misses
    assert_equal [12_500.0, [[0.125, 0.4]]], [found.miss_us, found.shrunk]
    assert_equal found.reads, Answer::Page.from(JSON.parse(JSON.generate(found.record))).reads
    assert_in_delta 1_500.0, page(PROFILE.merge("round_trip_ms" => 1.5)).round_trip_us
    { "version" => 9, "miss_ratio" => 9, "round_trip_ms" => -1, "bytes" => {},
      "reads_per_request" => nil }.each do |name, wrong|
      assert_match(/#{name}/, assert_raises(Lab::UsageError) { page(PROFILE.merge(name => wrong)) }.message)
    end
    assert_raises(Lab::UsageError) { Answer::Page.read("/nowhere.yml") }
  end

  # The page that tiercel-insight writes for `bin/rails cache:profile`.
  def test_a_page_that_insight_wrote
    require "tiercel/insight"
    with_tmpdir do |folder|
      store = ::Tiercel.new("memory:")
      Tiercel::Insight.start(store, folder:, share: 1.0)
      20.times do |request|
        ActiveSupport::Notifications.instrument("process_action.action_controller", {}) do
          5.times { |index| store.fetch("products/#{(request + index) % 10}") { "x" * 2_000 } }
        end
      end
      path = File.join(folder, "page.json")
      File.write(path, JSON.pretty_generate(Tiercel::Insight::Summary.new(store).profile))
      found = Answer::Page.read(path)
      assert_equal ["html-2kb"], found.reads.keys
      assert_in_delta 5.0, found.reads["html-2kb"]
      assert_in_delta 0.1, found.misses
      assert_operator found.miss_us, :>, 0
      assert_in_delta 500.0, found.round_trip_us
      remote = Class.new(ActiveSupport::Cache::MemoryStore) { def self.name = "RedisCacheStore" }.new
      assert_operator Tiercel::Insight::Summary.new(remote).profile["round_trip_ms"], :>, 0
    ensure
      Tiercel::Insight.stop
    end
  end

  def test_long_names_and_many_ties_fit_too
    names = Array.new(8) { |index| "tiercel:shared:/dev/shm/a-place-with-a-name-that-is-long-#{index}?size=16MB" }
    found = results(names.to_h { |name| [name, 1_000] })
    found["constraints"] = TWO_WORKERS.merge("machines" => 1, "given" => %w[machines workers memory_bytes survives])
    lines = sheet(found).lines
    check_size(lines)
    assert_match(/Cannot tell which is cheapest/, lines.join(" "))
  end

  # A terminal breaks a long configuration, and it can still be pasted.
  def test_a_configuration_stays_one_line
    found = results({ "memory_store" => 3_000, "tiercel:shared: sqlite:" => 1_000 })
    found["constraints"] = TWO_WORKERS.merge("given" => ["memory_bytes"])
    assert_includes sheet(found).lines,
                    '  config.cache_store = :tiercel_store, "shared:?size=56MB", "sqlite:storage/cache.sqlite3"'
  end

  def test_what_suits_nothing_says_what_to_type
    found = results(constraints: TWO_WORKERS.merge("machines" => 2, "given" => ["machines"]),
                    **{ values: %w[html-2kb] }).tap do |one|
      one["cells"].reject! { |cell| cell["contestant"]["name"] == "redis_cache_store" }
    end
    text = sheet(found).lines.join("\n")
    assert_match(/^No store of this run suits these constraints\.$/, text)
    assert_match(%r{^- other stores: bin/lab --machines 2$}, text)
  end

  def test_a_store_without_a_figure_for_a_call_takes_no_part
    found = results
    found["cells"].reject! { |cell| cell["contestant"]["name"] == "tiercel:shared:" && cell["operation"] == "write" }
    assert_equal "file_store:disk", sheet(found).choice.first.text
  end

  def test_a_report_configures_no_store_that_breaks_a_constraint
    found = results(NS.merge("memory_store" => 100))
    text = Lab::Report::Terminal.render(Lab::Tables.report(found, program: "bin/lab"))
    assert_includes text, "config.cache_store = :tiercel_store"
    refute_includes text, "config.cache_store = :memory_store"
  end

  def test_a_run_without_constraints_has_no_answer
    assert_nil Lab::Tables.report(results.except("constraints"), program: "bin/lab").answer
  end

  def test_the_machine_suggests_and_the_user_overrides
    suggested = Answer::Constraints.suggested({ "cores" => 4, "memory_mb" => 1_024 }, workers: 8)
    assert_equal [1, 8, 128 * 1024 * 1024, "nothing", ["workers"]], suggested.to_h.values
    assert_equal %w[--workers 8], suggested.options
    memory = ->(bytes) { Answer::Constraints.suggested({ "cores" => 4 }, memory_bytes: bytes).options }
    assert_equal [%w[--memory 64MB], %w[--memory 524288B]], [memory.call(64 * 1024 * 1024), memory.call(512 * 1024)]
    assert_equal 524_288, Answer::Constraints.bytes("524288B")
    assert_equal 2 * 1024**3, Answer::Constraints.bytes("2GB")
    assert_raises(Lab::UsageError) { Answer::Constraints.bytes("much") }
    assert_equal suggested, Answer::Constraints.from(JSON.parse(JSON.generate(suggested.record)))
  end
end
