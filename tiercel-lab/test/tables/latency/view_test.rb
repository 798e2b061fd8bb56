# frozen_string_literal: true

require_relative "../../support/lab_case"

class LatencyDocumentTest < LabCase
  RUN = { "seed" => 1, "started_at" => "2026-11-20T19:00:00Z",
          "protocol" => { "name" => "full", "processes" => 2, "blocks" => 2 } }.freeze
  NOTES = { "iterations" => 1_000, "long_iterations" => 100_000, "processes" => 2 }.freeze

  def row(store, place, kind, us, iterations: 1_000, **more)
    runs = [0, 1].map do |process|
      { "process" => process, "iterations" => iterations, "real" => us * iterations / 1e6, "user" => 0.1,
        "system" => 0.05, "server" => 0.02 }
    end
    { "store" => store, "place" => place, "kind" => kind, "medium" => "loopback", "status" => "measured",
      "reason" => nil, "iterations" => iterations, "runs" => runs, "round_trips" => [0.0001],
      "long" => nil }.merge(more)
  end

  def view(loops)
    results = { "run" => RUN, "environment" => Lab::Engine::Machine.describe, "cells" => [],
                "tables" => [{ "name" => "loop", "rows" => loops, "notes" => NOTES }] }
    Lab::Tables::Latency::View.new(results, command: "bin/lab latency")
  end

  def render(loops)
    document = view(loops).build
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

  # 12.7 of 18.8 s were printed as 81.6 %: the times were of one run, the share of others.
  def test_a_share_is_of_the_times_beside_it
    measured = [18.8, 12.7].zip(%w[redis_cache_store mem_cache_store]).map do |seconds, store|
      row(store, "loopback", "direct", 100, "long" => { "real" => seconds })
    end
    assert_match(/^\| mem_cache_store, loopback \| 12.7 s \| measured \| 67.6% \|$/, render(measured))
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

  def test_the_articles_figures_stand_beside_ours_at_the_same_round_trip
    text = render([*loops, row("mem_cache_store", "+1.4 ms, MemCachier", "distance", 3_000)])
    lines = text.lines.grep(/^\| EC2/)
    assert_match(/\| MemCachier \| 1,000 \| 2.85 s \|  \| \+1.4 ms, MemCachier \| 3.00 s/, lines[1])
    assert_match(/Redis, local \| 100,000 \| 41.6 s \| 100 % \| loopback \| 10.0 s .* \| baseline \|$/, lines[4])
    assert_match(/cache.t2.micro \| 1,000 \| 3.87 s \|  \| \+1.9 ms, ElastiCache \|  \|  \|$/, lines[2])
  end
end
