# frozen_string_literal: true

require_relative "../../support/lab_case"
require_relative "../../golden/recording"

class EndToEndTest < LabCase
  TABLE = Lab::Tables::EndToEnd::Table
  Design = Lab::Tables::EndToEnd::Design

  def test_combinations_and_where_their_time_goes
    run_table(TABLE, "--quick", "--require", PLANTED, "--value", "planted-books", "--serializer", "marshal,as_json",
              "--compressor", "zlib,none", "--store", "redis_cache_store", "--store", "tiercel:memory:",
              protocol: TINY.with(blocks: 1)) do |code, command|
      assert_equal 0, code, command.out.string
      table = command.document.tables.first
      assert_equal [%w[redis_cache_store marshal zlib], %w[redis_cache_store as_json zlib],
                    %w[redis_cache_store marshal none], %w[tiercel:memory: marshal zlib]],
                   table.rows.map { |row| row.first(3).map(&:to_s) }
      # Shows the parts of the time, or the reason why there are none. So short a slice permits either.
      table.rows.map { |row| row.drop(6) }.each do |parts|
        next assert_match(/\Acannot split: /, parts.first.value) if parts.first.kind == :missing
        assert_equal [true] * 5, parts.map { |part| part.value >= 0 }
      end
      assert_operator table.rows[0][5].value, :<, table.rows[2][5].value, "zlib's bytes"
    end
  end

  def test_a_quick_run_varies_one_factor_a_full_one_all
    quick = Design.new(quick: true).combinations
    base = quick.first
    assert_equal %w[marshal zlib mem_cache_store], base
    assert_equal [Design::ADVICE], (quick.reject { |combination| varied(base, combination) <= 1 })
    full = Design.new(quick: false)
    assert_equal product, full.combinations.size
    assert_operator full.comparisons.map { |comparison| comparison.arms.count(&:row?) }.max, :<, 120
  end

  def varied(base, combination) = combination.zip(base).count { |one, other| one != other }

  def product = Design::SERIALIZERS.size * Design::COMPRESSORS.size * Design::STORES.size

  def test_a_full_run_has_all_combinations_on_one_value_and_on_those_that_are_named
    rows, books = %w[rows-50 books].map { |name| Lab::Values.fetch(name) }
    full = Design.new(quick: false)
    sizes = full.comparisons.reject { |comparison| comparison.operation.kind == :serializer }
                .group_by { |comparison| comparison.value.name }
                .transform_values { |found| found.sum { |comparison| comparison.arms.count(&:row?) } }
    assert_equal 2 * product, sizes["rows-50"]
    assert_operator sizes["books"], :<, 2 * 20
    assert_equal [Design::ADVICE],
      (full.combinations(books).reject { |one| varied(full.combinations(books).first, one) <= 1 })
    assert_equal [product, product], [rows, books].map { |value|
      Design.new(quick: false, values: [rows, books]).combinations(value).size
    }
  end

  def test_every_row_of_a_full_run_has_its_layers
    cells = Design.new(quick: false, values: %w[rows-50]).comparisons.flat_map(&:arms).select(&:row?).map do |arm|
      cell(arm.operation.name, arm.contestant.name, 10, arm.contestant.describe, [[0, 5]])
    end
    wholes = cells.select { |one| Design::WAYS.key?(one["operation"]) }
    splits = wholes.map { |whole| Lab::Tables::EndToEnd::Split.new(whole, cells, whole["operation"]).tap(&:us) }
    assert_equal [nil] * 576, splits.map(&:reason)
  end

  WIRE = [[0, 20], [0, 30], [0, 90], [1, 40], [1, 50]].freeze

  def split(whole: 1_000, wire: 100, served: WIRE, layers: true)
    cells = [cell("load", "auto", 300), *([cell("inflate", "zstd of auto", 200)] if layers),
             cell("wire_get", "wire memcached auto zstd", wire, {}, served)]
    Lab::Tables::EndToEnd::Split.new(cell("end_to_end_read", "whole", whole, "store" => "mem_cache_store",
                                  "serializer" => "auto", "compressor" => "zstd"), cells, "end_to_end_read")
  end

  # The times of server and wire come from the same slices: the median of each process (30 and 45 us of 100), then of
  # the processes.
  def test_parts_are_of_the_layers_alone
    assert_equal({ "serialize" => 300.0, "compress" => 200.0, "client" => 400.0, "wire" => 62.5, "server" => 37.5 },
                 split.us)
  end

  def test_what_does_not_add_up_is_no_split
    { { layers: false } => /zstd of auto was not measured alone/,
      { served: [[0, nil]] } => /server's CPU time is not known/ }.each do |facts, words|
      split = self.split(**facts)
      assert_nil split.us
      assert_match words, split.reason
    end
  end

  # The layers alone took 600 us, the whole call 500 us; the server 130 us, the call through the socket 100 us.
  def test_what_is_left_is_zero_with_a_note
    assert_equal [0.0, { "client" => "Alone, the other layers take 20 % more CPU time than the whole call." }],
                 split(whole: 500).then { |found| [found.us["client"], found.notes] }
    assert_equal [0.0, 130.0, ["wire"]],
                 split(served: [[0, 130]]).then { |found| [*found.us.values_at("wire", "server"), found.notes.keys] }
  end

  # Slices of ten calls, all of them CPU time, with the server's time in microseconds, by process.
  def cell(operation, name, us, facts = {}, served = [[0, nil]])
    ns = us * 10_000
    { "operation" => operation, "contestant" => { "name" => name }.merge(facts), "status" => "measured",
      "summary" => { "ns" => { "estimate" => us * 1e3 } },
      "slices" => served.map { |process, own| [process, 0, 0, 10, ns, 0, ns, 0, *(own * 10_000 if own)] } }
  end

  # Divides CPU time by CPU time, with an interval. The share of the wall time would depend on other programs.
  def test_the_share_of_serializer_and_compressor_is_of_cpu_time
    results = Recording.new("end-to-end").results
    share = ->(factor) do
      results["cells"].each { |cell| cell["summary"]["ns"].transform_values! { |ns| ns * factor } if cell["summary"] }
      Lab::Tables::EndToEnd::View.new(results, command: "bin/lab").sentence[/alone take .*% \[.*\] of its CPU time/]
    end
    quiet = share.call(1)
    assert_match(/\[[\d.]+–[\d.]+\]/, quiet)
    assert_equal quiet, share.call(10), "ten times the wall clock's time"
  end
end
