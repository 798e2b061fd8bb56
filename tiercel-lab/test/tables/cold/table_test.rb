# frozen_string_literal: true

require_relative "../../support/lab_case"

class ColdTest < LabCase
  Cold = Lab::Tables::Cold

  def test_a_store_has_warm_and_cold_figures_in_one_row
    run_table(Cold::Table, "--keys", "200", "--op", "read,read_multi", "--store", "memory_store", "--store",
              "tiercel:memory:") do |code, command|
      assert_equal 0, code, command.err.string
      assert_match(/^With cold processor caches: read, string-1kb-200: /, command.out.string)
      rows = command.out.string.lines.grep(/^tiercel:memory: /)
      assert_equal 2, rows.size
      # A process that another program disturbed has a noise floor above its ratio, which is then "n/a [1]".
      rows.each { |row| assert_equal [2, 2], [row.scan(/[\d.]+ us/).size, row.scan(%r{[\d.]+x|n/a \[}).size], row }
    end
  end

  def test_each_operation_is_planned_warm_and_cold
    code, out, = lab("cold", "--plan", "--keys", "2000,20000", "--op", "fetch")
    assert_equal 0, code
    expected = %w[string-1kb-2000 string-1kb-20000].product(%w[fetch fetch_cpu_cold])
    assert_equal expected, out.lines.grep(/^string/).map { |line| line.split.first.split("/") }
  end

  def test_a_curve_by_size_and_the_price_of_a_first_touch
    code, out, = lab("cold", "--plan", "--curve")
    assert_equal 0, code
    sizes = out.lines.grep(/^html/).map { |line| line[%r{\A[^/]+}] }.uniq
    assert_equal %w[html-256b html-1mb 9], [sizes.first, sizes.last, sizes.size.to_s]
    comparison = ->(size, name) { Lab::Engine::Comparison.of(
      value: Lab::Values::SizedHTML.parse(size), operation: Lab::Operations.fetch(name),
      contestants: %w[memory_store tiercel:shared:].map { |text| Lab::Contestants.parse(text) }
    ) }
    cells = %w[256B 2KB 8KB].product(%w[read read_cpu_cold]).flat_map do |size, name|
      made = comparison.call(size, name)
      made.arms.map { |arm| cell_of(made, arm, [[1_000, 1_001], [1_002, 1_003]]) }
    end
    Lab::Engine::Summary.fill(cells, protocol: TINY)
    results = results_of("cold", cells:)
    results["tables"] = [{ "name" => "first touch", "rows" => [{ "us" => 12.5 }], "notes" => {} }]
    text = Lab::Report::Markdown.render(Cold::Table.report(results, command: "bin/lab cold --curve"))
    assert_match(/touches first costs 12.5 us/, text)
    assert_match(/^\| bytes \| memory_store, warm, us \| memory_store, cold, us \| tiercel:shared:, warm, us/, text)
    assert_operator Lab::Engine::Machine.first_touch_us, :>=, 0
  end

  def test_what_makes_no_sense_is_refused
    assert_refused(%w[cold --keys few] => /--keys few: expected a number/,
                   %w[cold --op write] => /--op:.*"write"/)
  end
end
