# frozen_string_literal: true

require_relative "../../support/lab_case"
require_relative "../../support/canned"

class AppCommandTest < LabCase
  App = Lab::Tables::App

  # 20 requests in each of four blocks. The cache server uses a tenth of the CPU time.
  def row(store, cpu_us, **more)
    blocks = [0, 1].product([0, 1]).map do |process, block|
      [process, block, 0.5, cpu_us * 18_000, cpu_us * 2_000, *Array.new(20) { |index| 4_000_000 + (index * 100_000) }]
    end
    { store:, path: "/products", status: "measured", reason: nil, blocks:, bytes: 28_525 }.merge(more)
  end

  def document(rows)
    tables = { "pages" => [rows, { requests: 10, connections: 4, rails: "8.1", workers: 2, threads: 3 }],
               "memory" => [[{ store: "tiercel:shared:", process: 0, bytes: 200_000_000, server_bytes: 0 }],
                            { kind: "PSS" }] }
    App::Table.report(Canned.results(command: "app", tables:), command: "bin/lab app --quick")
  end

  def test_what_a_request_costs_on_each_store
    report = document([row("tiercel:shared:", 2_000), row("redis_cache_store", 3_000),
                       row("tiercel:shared: again", 2_020)])
    assert_match(%r{\A/products \(50 fragments\): tiercel:shared: 2,000 us, redis_cache_store 3,000 us of CPU},
                 report.verdicts.first.sentence)
    page, memory = report.tables
    assert_equal ["tiercel:shared:", "redis_cache_store"], page.rows.map(&:first).map(&:to_s)
    assert_match(/\A1\.50.*x/, page.rows[1][6].to_s)
    assert_match(/slower/, page.rows[1][7].to_s)
    assert_match(/40/, page.rows[0][1].to_s, "20 requests in half a second")
    assert_match(/\A300 us/, page.rows[1][5].to_s, "the cache server's")
    assert_equal "1.0 %", page.floor
    assert_match(/200 MB/, memory.rows[0][1].to_s)
    assert_match(/<table/, Lab::Report::Html.render(report))
  end

  def test_the_third_articles_requests_stand_beside_ours
    report = document([row("file_store", 2_000), row("mem_cache_store", 3_000)])
    article = report.tables.find { |table| table.title.include?("beside ours") }
    assert_equal ["file_store by mem_cache_store", "0.800x", "1.00x [1.00\u20131.00]"], article.rows.first.map(&:to_s)
    refute_includes document([row("file_store", 2_000)]).tables.map(&:title).join, "beside ours"
  end

  def test_a_store_that_failed_is_no_figure
    failed = row("mem_cache_store", 1, status: "cannot run", reason: "memcached is not installed", blocks: [])
    report = document([row("tiercel:shared:", 2_000), failed])
    assert_match(/cannot run: memcached is not installed/, Lab::Report::Markdown.render(report))
  end

  def test_the_command_line
    assert_refused(%w[app --store nosuch] => /nosuch/, %w[app --page /nowhere] => /nowhere/,
                   %w[app --rails 5.0] => /5\.0/, %w[app --requests 0] => /> 0/, %w[app extra] => /takes options only/)
    plan = lab("app", "--plan", "--quick", "--page", "/products")[1]
    assert_match(/tiercel:shared:, .*null_store; \/products: 1 x fresh applications, 4 blocks x 48 requests/, plan)
  end

  def test_a_page_end_to_end
    json = File.join(dir, "run.json")
    code, out, err = lab("app", "--quick", "--requests", "4", "--page", "/products/1", "--store",
                         "solid_cache_store,tiercel:redis:", "--results", dir, "--json", json)
    results = Lab::Engine::Results.load(json)
    rows = results["tables"].to_h { |table| [table["name"], table["rows"]] }
    reason = rows["pages"].filter_map { |one| one["reason"] }.first
    skip(reason) if reason&.include?("could not be installed")
    assert_equal 0, code, [out, err, reason].join("\n")
    assert_empty SCHEMA.errors(results)
    assert_equal [1, 4], results["run"]["protocol"].values_at("processes", "blocks"), "as it was measured"
    rows["pages"].each { |one| assert_equal [8] * 4, one["blocks"].map { |block| block.drop(5).size }, one["store"] }
    rows["pages"].each do |one|
      own, servers = one["blocks"].map { |block| block[3, 2] }.transpose
      assert own.all?(&:positive?), one["store"]
      assert_equal one["store"] == "tiercel:redis:", servers.any?(&:positive?), one["store"]
    end
    assert_equal 0, lab("report", json).first
  end
end
