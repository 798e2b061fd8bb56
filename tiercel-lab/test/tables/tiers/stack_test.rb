# frozen_string_literal: true

require_relative "../../support/lab_case"
require "tiercel/lab/tables/tiers/table"

class TiersStackTest < LabCase
  Tiers = Tiercel::Lab::Tables::Tiers

  def stack(text) = Tiers::Stack.new(text)

  def test_its_parts
    assert_equal ["near-alone=tiercel:shared:#checksum=false",
                  "near-hit=tiercel:shared:?ttl=3600 redis:#checksum=false",
                  "far-hit=tiercel:shared:?ttl=1e-06 redis:#checksum=false", "far-alone=tiercel:redis:#checksum=false"],
                 stack("tiercel:shared:?ttl=5 redis:#checksum=false").contestants
    assert_equal "tiercel:memory:?size=4MB&ttl=3600 shared:?ttl=3600 sqlite:/tmp/x",
                 stack("memory:?size=4MB&ttl=3 shared: sqlite:").long("sqlite:/tmp/x")
    parts = stack("tiercel:memory:?ttl=2&size=4MB shared: redis:").contestants
    parts.each { |text| assert Lab::Contestants.parse(text) }
  end

  def test_one_place_for_several_machines
    assert_equal "sqlite:/folder/cache.sqlite3?size=5MB", stack("shared: sqlite:?size=5MB").file_in("/folder")
    assert_equal "file:/folder", stack("shared: file:").file_in("/folder")
    assert_nil stack("shared: redis:").file_in("/folder")
    assert_nil stack("shared: redis://127.0.0.1:1/0").file_in("/folder")
    servers = ["redis:", "sqlite:", "redis+cluster:"].map { |last| stack("shared: #{last}").server }
    assert_equal [:redis, nil, nil], servers
  end

  def test_what_one_process_hears_counts_for_its_machine
    told = ["shared: redis:", "shared:?ttl=5 redis://127.0.0.1:1/0", "shared: rediss://127.0.0.1:1/0"]
    silent = ["memory: redis:", "memory: shared: redis:", "shared: sqlite:", "shared: memcached:",
              "shared: redis+cluster:", "shared:?bus=false redis:"]
    assert_equal [[true], [false]], [told, silent].map { |each| each.map { |text| stack(text).shares_news? }.uniq }
    assert_equal "tiercel:shared:?ttl=5&bus=false redis:#checksum=false",
                 stack("tiercel:shared:?ttl=5 redis:#checksum=false").deaf
    conditions = Tiers::Design::QUICK.conditions(stack("shared: redis:"))
    assert_equal [[0, false], [1, false], [1, true]], conditions
    assert_equal [[0, false], [1, false]], Tiers::Design::QUICK.conditions(stack("memory: redis:"))
  end

  def test_patience_is_longer_than_copies_live
    assert_in_delta 1.7, stack("shared: redis:").patience_seconds
    assert_in_delta 6.5, stack("memory: shared:?ttl=4 redis:").patience_seconds
    assert_in_delta 10.0, stack("shared:?ttl=60 redis:").patience_seconds
  end

  # The quantile of all changes: unseen changes count as longer than all seen ones.
  def test_quantiles_count_what_was_not_seen
    ages = Tiers::Ages.new("seen_ms" => [3.0, 1.0], "deleted_ms" => [2.0], "changes" => 4, "unseen" => 1, "busy" => 3)
    assert_equal [1.0, 2.0, 3.0, nil], [0.25, 0.5, 0.75, 1.0].map { |share| ages.quantile(share) }
    assert_equal "3 busy threads", ages.beside
    assert_equal [[1.0, 25.0], [2.0, 50.0], [3.0, 75.0]], ages.curve
  end
end
