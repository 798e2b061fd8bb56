# frozen_string_literal: true

require_relative "../../support/lab_case"

class LatencyDocumentTest < LabCase
  RUN = { "seed" => 1, "started_at" => "2026-11-20T19:00:00Z",
          "protocol" => { "name" => "full", "processes" => 2, "blocks" => 2 } }.freeze
  NOTES = { "iterations" => 1_000, "long_iterations" => 100_000, "arrivals" => "exponential", "processes" => 2 }.freeze

  def row(store, place, kind, us, iterations: 1_000, **more)
    runs = [0, 1].map do |process|
      { "process" => process, "iterations" => iterations, "real" => us * iterations / 1e6, "user" => 0.1,
        "system" => 0.05, "server" => 0.02 }
    end
    { "store" => store, "place" => place, "kind" => kind, "medium" => "loopback", "status" => "measured",
      "reason" => nil, "iterations" => iterations, "runs" => runs, "round_trips" => [0.0001],
      "long" => nil }.merge(more)
  end

  def load(rate, carried: 1.0, **more)
    histogram = Lab::Statistics::Histogram.new
    1_000.times { |index| histogram.record(100_000 + (index * 100)) }
    { "store" => "redis_cache_store", "place" => "loopback", "rate" => rate, "status" => "measured",
      "offered" => rate, "achieved" => rate * carried, "rising" => carried < 1.0, "share" => carried,
      "response" => histogram.to_h,
      "service" => histogram.to_h }.merge(more)
  end

  def cell(text, us, bytes, medium: "loopback", role: "contestant")
    { "id" => text, "value" => "html-822kb", "operation" => "read", "role" => role, "status" => "measured",
      "slices" => [], "contestant" => { "name" => text, "text" => text, "medium" => medium },
      "exact" => { "stored_bytes" => bytes },
      "summary" => { "ns" => { "estimate" => us * 1e3, "low" => us * 0.99e3, "high" => us * 1.01e3 }, "ratio" => nil,
                     "verdict" => nil } }
  end

  def view(loops, loads: [], cells: [])
    results = { "run" => RUN, "environment" => Lab::Engine::Machine.describe, "cells" => cells,
                "tables" => [{ "name" => "loop", "rows" => loops, "notes" => NOTES },
                             { "name" => "load", "rows" => loads, "notes" => NOTES }] }
    Lab::Tables::Latency::View.new(results, command: "bin/lab latency")
  end

  def render(loops, **)
    document = view(loops, **).build
    assert_match(/<svg/, Lab::Report::Html.render(document)) if loops.size > 2
    Lab::Report::Markdown.render(document)
  end

  def loops
    [row("redis_cache_store", "loopback", "direct", 100),
     row("mem_cache_store", "loopback", "direct", 102, "long" => { "real" => 10.25 }),
     row("redis_cache_store", "+5 ms", "distance", 10_000, iterations: 50),
     row("mem_cache_store", "+5 ms", "distance", 1, "status" => "misses", "reason" => "9 found nothing")]
  end

  def test_time_and_percent_of_the_baseline_and_what_is_computed
    text = render(loops)
    assert_match(/^\| redis_cache_store, loopback \| 10.0 s \[.*\| computed from 1,000 \| baseline \|$/, text)
    assert_match(/^\| mem_cache_store, loopback \| 10.2 s \| measured \| 102% /, text)
    assert_match(/^\| redis_cache_store, \+5 ms \| 1,000 s \[.*\| computed from 50 \| 10,000% /, text)
    assert_match(/; with redis_cache_store \(\+5 ms\) 100x the time of redis_cache_store \(10.0 ms/, text)
  end

  # Two figures side by side would claim a difference.
  def test_the_sentence_says_what_a_verdict_carries
    words = lambda do |row|
      view([loops.first, row]).sentence
    end
    near = ->(us) { row("tiercel:shared:", "in process", "direct", us, "medium" => "process") }
    assert_match(/; with tiercel:shared: \(in process\) 0\.0100x the time of redis_cache/, words.call(near.call(1)))
    assert_match(/ the same time as redis_cache_store/, words.call(near.call(103)))
    wide = near.call(103).merge("runs" => [1, 300].each_with_index.map do |us, process|
      { "process" => process, "iterations" => 1_000, "real" => us / 1e3, "user" => 0.1, "system" => 0.05 }
    end)
    assert_match(/ a time that cannot be told from that of redis_cache_store/, words.call(wide))
  end

  def test_what_is_within_the_margin_is_no_finding
    far = ->(us) { row("redis_cache_store", "+5 ms", "distance", us) }
    assert_equal 1, view([loops.first, far.call(10_000)]).findings.size
    assert_empty view([loops.first, far.call(103)]).findings
  end

  def test_misses_have_no_time
    lines = render(loops).lines.grep(/mem_cache_store.*\+5 ms/)
    assert_equal 2, lines.size
    lines.each { |line| assert_match(/n\/a: misses: 9 found nothing \|/, line) }
  end

  def test_without_the_baselines_store_the_first_on_the_loopback_is_it
    assert_match(/^\| mem_cache_store, loopback .*\| baseline \|$/, render(loops.drop(1)))
    assert_match(/Nothing could be measured/, render([loops.last]))
    assert_match(/with redis_cache_store \(\+5 ms\)/, render([loops[2]]))
  end

  def test_an_overloaded_store_has_at_least_its_p99
    text = render(loops, loads: [load(2_000.0), load(5_000.0), load(20_000.0, carried: 0.8)])
    assert_match(/^\| redis_cache_store, loopback, 5,000\/s \| 5,000 \/s \| 5,000 \/s \| intended \| 0.15/, text)
    over = text.lines.grep(/20,000\/s \|/).first
    assert_match(/\| 16,000 \/s \| intended \|  \|  \| at least 0.200 ms, rising\[?/, over)
    assert_match(/Overloaded: 80.0 % of the rate was carried/, text)
    assert_match(/p99 by offered load/, text)
  end

  # Older versions offered shares of a closed loop's rate.
  def test_runs_of_older_versions_have_a_report
    old = load(0.0).except("rate", "rising").merge("share_of_capacity" => 0.5, "capacity" => 9_000.0)
    assert_match(/redis_cache_store, loopback, 4,500\/s/, render(loops, loads: [old]))
  end

  def test_break_evens_are_computed_from_the_parts
    cells = [cell("plain", 1_000, 841_728, role: "baseline"), cell("packed", 3_000, 146_000),
             cell("near", 400, 1, medium: "process")]
    text = render(loops, cells:)
    # 695,728 bytes saved for 2,000 us: 695,728 * 8 bits / 2 ms = 2.78 Gbit/s.
    assert_match(/\| 695,728 \| 2,000 us .*\| 2,783 Mbit\/s /, text)
    # 841,728 bytes need 6 round trips from ten segments on, 146,000 need 4.
    assert_match(/\| 1.00 ms \[0.98/, text)
    # 400 us / 0.5 - 1,000 us is negative; with 30 % hits it would be 333 us.
    assert_match(/^\| html-822kb \| near \| plain \| 40.0% .*any: it pays on the loopback/, text)
  end

  def test_round_trips_of_a_connection_that_was_idle
    rounds = [1, 14_600, 14_601, 43_800, 43_801, 841_728].map do |bytes|
      Lab::Tables::Latency::BreakEven.rounds(bytes)
    end
    assert_equal [1, 1, 2, 2, 3, 6], rounds
  end
end
