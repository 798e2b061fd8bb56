# frozen_string_literal: true

require_relative "../../support/lab_case"

class WorkersDocumentTest < LabCase
  NOTES = { "stores" => %w[memory_store tiercel:memory: tiercel:shared:], "zipf" => 1.0, "items" => 1_000,
            "value_bytes" => 1_000,
            "total_bytes" => 8 * 1024 * 1024, "rounds" => 1, "miss_ms" => 1.0, "memory" => "PSS" }.freeze

  def row(store, workers, own, hits:, us:, **more)
    segment = { "hits" => hits, "requests" => 100, "seconds" => us * 100 / 1e6, "cpu_seconds" => us * 50 / 1e6 }
    { "store" => store, "workers" => workers, "round" => 0, "own" => own, "status" => "measured", "reason" => nil,
      "loads" => Array.new(workers) { [segment, segment] }, "empty_bytes" => 30 * 1024 * 1024,
      "full_bytes" => 40 * 1024 * 1024 }.merge(more)
  end

  def render(*rows)
    results = { "run" => { "seed" => 1, "started_at" => "2026-11-20T19:00:00Z", "protocol" => { "name" => "quick" } },
                "cells" => [], "environment" => Lab::Engine::Machine.describe,
                "tables" => [{ "name" => "workers", "rows" => rows, "notes" => NOTES }] }
    document = (@view = Lab::Tables::Workers::View.new(results, command: "bin/lab workers")).build
    Lab::Report::Html.render(document)
    Lab::Report::Markdown.render(document)
  end

  def test_a_miss_costs_what_it_would_take
    text = render(row("memory_store", 1, true, hits: 90, us: 5), row("memory_store", 4, true, hits: 60, us: 5),
                  row("tiercel:shared:", 1, false, hits: 90, us: 6),
                  row("tiercel:shared:", 4, false, hits: 90, us: 6, "server_cpu" => 0.0004))
    # 5 us and 40 of 100 misses of 1,000 us; 6 us and 10 of them.
    in_each = text.lines(chomp: true).find { |line| line.start_with?("| memory_store (in each) | 4 |") }
    assert in_each.start_with?("| memory_store (in each) | 4 | 2.00 MB | 60.0% "), in_each
    assert in_each.end_with?("| 405 us [405–405] | 2.50 us | 40.0 MB | 10.0 MB |"), in_each
    shared = text.lines.grep(/^\| tiercel:shared: \(shared\) \| 4 \|/).first
    assert_match(/\| 8.00 MB \| 90.0% .*\| 106 us \[106–106\] \| 3.50 us \|/, shared)
    assert_match(/With 4 workers .* 106 us .* 405 us .*Sharing is clearly cheaper from 4 workers on\./, text)
  end

  def test_sharing_may_pay_off_for_a_single_worker
    render(*[1, 4].flat_map { |workers|
      [row("memory_store", workers, true, hits: 60, us: 5), row("tiercel:shared:", workers, false, hits: 90, us: 6)]
    })
    assert @view.findings.first.text.end_with?("sharing is cheaper from 1 worker on.")
  end

  # Each candidate has its own figures, and sharing is cheaper only if it is cheaper than both.
  def test_stores_that_cannot_be_told_apart_have_figures_of_their_own
    rows = [row("memory_store", 2, true, hits: 60, us: 5), row("tiercel:shared:", 2, false, hits: 70, us: 6),
            row("tiercel:memory:", 2, true, hits: 61, us: 5)]
    sentence = "306 us [306–306] with one cache for all (tiercel:shared:) and 405 us [405–405] or 395 us [395–395] " \
               "with one in each (memory_store or tiercel:memory:): hits 70.0 % against 60.0 % or 61.0 %. Sharing " \
               "is clearly cheaper from 2 workers on."
    assert_includes render(*rows), sentence
    rows[2]["loads"][0][0] = rows[2]["loads"][0][0].merge("hits" => 80)
    assert_match(/ 70\.0 % against .*\. Which is cheaper cannot be told\./, render(*rows))
  end

  # Sharing is cheaper with 2 workers; with 4 it is not.
  def test_from_a_number_on_means_with_all_larger_numbers
    rows = { 2 => 60, 4 => 89 }.flat_map do |workers, hits|
      [row("memory_store", workers, true, hits:, us: 5), row("tiercel:shared:", workers, false, hits: 90, us: 6)]
    end
    assert_match(/Which is cheaper cannot be told\./, render(*rows))
  end

  # 100 us and 104 us differ, but within the margin.
  def test_what_is_within_the_margin_is_not_called_cheaper
    text = render(row("memory_store", 4, true, hits: 100, us: 104),
                  row("tiercel:shared:", 4, false, hits: 100, us: 100))
    assert_match(/Which is cheaper cannot be told\./, text)
    refute_match(/clearly cheaper/, text)
  end

  def test_the_control_tells_sharing_from_the_engine
    text = render(row("memory_store", 4, true, hits: 60, us: 5), row("tiercel:memory:", 4, true, hits: 60, us: 2),
                  row("tiercel:shared:", 4, false, hits: 90, us: 2))
    assert_match(/The control \(tiercel:memory:, the same engine in each\) costs 402 us/, text)
    assert_match(/: with sharing a call takes 0.254x/, text)
  end

  # Two rounds differ: more workers and segments in one round do not make the interval narrower.
  def test_rounds_are_clusters
    rows = [5, 9].each_with_index.map { |us, round| row("tiercel:shared:", 4, false, hits: 100, us:, "round" => round) }
    assert_match(/\| 100% .*\| 7.00 us \[5.00–9.00\] \|/, render(*rows))
  end

  def test_what_could_not_run_keeps_its_row
    text = render(row("memory_store", 4, true, hits: 60, us: 5),
                  row("tiercel:shared:", 4, false, hits: 0, us: 1, "status" => "cannot run",
                      "reason" => "no extension"))
    assert_match(/^\| tiercel:shared: \(shared\) \| 4 \| n\/a: cannot run: no extension \|/, text)
    assert_match(/Nothing could be compared/, text)
  end
end
