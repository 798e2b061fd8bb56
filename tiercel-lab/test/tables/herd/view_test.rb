# frozen_string_literal: true

require_relative "../../support/lab_case"
require_relative "../../support/canned"

class HerdDocumentTest < LabCase
  NOTES = { "stores" => %w[redis_cache_store tiercel:shared:], "threads" => 2, "processes" => 2, "block_ms" => 100.0,
            "rounds" => 2 }.freeze
  COLD, LEASE = "cold", "cold, lease: true"

  # @param blocks [Array<Array(Float, Float)>] beginning and end in ms
  def row(store, condition, blocks, round: 0, callers: [100.0, 101.0, 102.0, 110.0], **more)
    { "store" => store, "condition" => condition, "round" => round, "own" => false, "status" => "measured",
      "reason" => nil, "callers_ms" => callers, "late_ms" => 0.5, "stale" => 0, "blocks_ms" => blocks }.merge(more)
  end

  def document(*rows)
    results = Canned.results(command: "herd", tables: { "herd" => [rows, NOTES] })
    Lab::Tables::Herd::View.new(results, command: "bin/lab herd").build
  end

  def markdown(*rows) = Lab::Report::Markdown.render(document(*rows))

  def test_blocks_are_counted_and_so_are_those_that_ran_at_once
    text = markdown(row("redis_cache_store", COLD, [[0.0, 100.0], [10.0, 110.0], [100.0, 200.0]]),
                    row("redis_cache_store", COLD, [[0.0, 100.0]] * 4, round: 1),
                    row("tiercel:shared:", LEASE, [[0.0, 100.0]]),
                    row("tiercel:shared:", LEASE, [[1.0, 99.0]], round: 1))
    assert_match(/4 callers \(2 processes x 2 threads\), all at once, ran the block 3 to 4 times without a lease; /,
                 text)
    assert_match(/^\| redis_cache_store \| cold \| 4 \[3–4\] \| 3 \[2–4\] \| 102 ms .* \| 110 ms /, text)
    assert_match(/^\| tiercel:shared: \| cold, lease: true \| 1 \| 1 \| /, text)
  end

  # One failed round among many is reported, and not rounded away.
  def test_a_lease_that_failed_once_is_not_called_once
    text = markdown(row("tiercel:shared:", LEASE, [[0.0, 100.0]]),
                    row("tiercel:shared:", LEASE, [[0.0, 100.0]] * 2, round: 1))
    assert_match(/ran the block 1 to 2 times with `lease: true`\./, text)
  end

  def test_what_could_not_run_and_callers_that_came_late_are_said
    failed = { "store" => "redis_cache_store", "condition" => COLD, "round" => 0, "status" => "cannot run",
               "reason" => "no server" }
    text = markdown(failed, row("tiercel:shared:", LEASE, [[0.0, 100.0]], "late_ms" => 80.0))
    assert_match(/^\| redis_cache_store \| cold \| n\/a: cannot run: no server \|/, text)
    assert_match(/The machine was busy: a caller came 80\.0 ms late\./, text)
    assert_match(/Nothing could be measured\./, markdown(failed))
  end
end
