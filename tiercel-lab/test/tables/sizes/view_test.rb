# frozen_string_literal: true

require_relative "../../support/lab_case"

class SizesDocumentTest < LabCase
  def cell(text, value, us, spread: 0.01, **more)
    ns = { "estimate" => us * 1e3, "low" => us * 1e3 * (1 - spread), "high" => us * 1e3 * (1 + spread) }
    { "value" => value, "operation" => "fetch", "role" => "contestant", "status" => "measured", "slices" => [],
      "exact" => {}, "clock" => "wall", "contestant" => { "name" => text, "text" => text },
      "summary" => { "ns" => ns, "ratio" => nil, "verdict" => nil } }.merge(more)
  end

  def render(*cells)
    sizes = { "html-2kb" => 2_048, "html-822kb" => 841_728 }.map do |name, bytes|
      { "name" => name, "title" => name, "bytes" => bytes, "html" => true }
    end
    results = { "run" => { "seed" => 1, "started_at" => "2026-11-20T19:00:00Z",
                           "protocol" => { "name" => "full", "processes" => 6, "blocks" => 8 } },
                "environment" => Lab::Engine::Machine.describe, "cells" => cells,
                "tables" => [{ "name" => "sizes", "rows" => sizes, "notes" => {} }] }
    document = Lab::Tables::Sizes::View.new(results, command: "bin/lab sizes").build
    Lab::Report::Html.render(document)
    Lab::Report::Markdown.render(document)
  end

  # The view names the cheapest and the most expensive size if verdicts support it.
  def test_from_the_least_to_the_most
    one = cell("memory_store", "html-2kb", 6.21)
    assert_match(/Cost of a hit\. html-2kb: 6\.21 us \(memory_store\)\./, render(one))
    assert_match(/html-2kb: from 6\.21 us \(memory_store\) to 100 us \(a\) or 101 us \(b\)\./,
                 render(one, cell("a", "html-2kb", 100), cell("b", "html-2kb", 101)))
    assert_match(/html-2kb: 6\.21 us \(memory_store\) and 6\.30 us \(a\), which cannot be told apart\./,
                 render(one, cell("a", "html-2kb", 6.3, spread: 0.1)))
  end

  def test_where_stores_cross_is_computed_between_the_sizes
    text = render(cell("mem_cache_store", "html-2kb", 100), cell("file_store:disk", "html-2kb", 50),
                  cell("mem_cache_store", "html-822kb", 1_000), cell("file_store:disk", "html-822kb", 2_000))
    # On logarithmic axes the two lines cross half way, at the geometric mean of the sizes.
    assert_match(/^\| file_store:disk \| mem_cache_store \| 41,5\d\d \|$/, text)
  end

  def test_crossings_within_the_noise_are_not_shown
    text = render(cell("mem_cache_store", "html-2kb", 100), cell("file_store:disk", "html-2kb", 99, spread: 0.1),
                  cell("mem_cache_store", "html-822kb", 1_000), cell("file_store:disk", "html-822kb", 2_000))
    assert_match(/1 more is within the intervals/, text)
    refute_match(/^\| file_store:disk \| mem_cache_store \|/, text)
  end

  def test_the_articles_figures_stand_beside_with_their_doubt
    text = render(cell("mem_cache_store", "html-2kb", 100), cell("mem_cache_store", "html-822kb", 1_000),
                  cell("nfs=file_store:/mnt/nfs", "html-822kb", 9))
    assert_match(/0.220 ms \[1\]/, text)
    assert_match(/almost surely misses/, text)
    assert_match(/15.9 ms/, text)
  end
end
