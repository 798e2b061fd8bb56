# frozen_string_literal: true

require_relative "../../support/lab_case"

class CompareViewTest < LabCase
  def cells
    comparison = compare("memory_store", "null_store", "planted_absent")
    figures = { baseline: 3_000, contestant: 600, null: 3_010 }
    made = comparison.arms.map do |arm|
      cell_of(comparison, arm,
              Array.new(4) { |process| Array.new(5) { |block| figures.fetch(arm.role) + process + block } })
    end
    absent = made.find { |cell| cell.arm.name == "planted_absent" }
    absent.slices.clear
    absent.note("status" => "cannot run", "reason" => "gem x is not in the bundle: add gem \"x\"")
    made.each do |cell|
      next if cell.equal?(absent)
      cell.note("status" => "measured", "allocations" => 12.0, "exact" => { "stored_bytes" => 2072 })
    end
    Lab::Engine::Summary.fill(made, protocol: Lab::Engine::Protocol::QUICK)
    made
  end

  def view(cells, **) = Lab::Tables::Compare::View.new(results_of("compare", cells:, **), command: "bin/lab")

  def test_the_table_of_a_value_keeps_what_cannot_run
    text = Lab::Report::Terminal.render(view(cells).build)
    assert_match(/^String of 100 B$/, text)
    assert_match(/^read: string-100b \(noise floor: 0\.\d %\)$/, text)
    assert_match(/^memory_store +3\.00 us +\[.*\] .* baseline +\u250A? +0 us +12 +2,072$/, text)
    assert_match(/^null_store +0\.60\d us .*0\.20\dx \[0\.\d+\u20130\.\d+\] .*faster/, text)
    assert_match(/^planted_absent +cannot run: gem x is not in the bundle: add gem "x"$/, text)
    refute_match(/again/, text)
  end

  # On c8fa7d5a: "a near hit costs 0.0222x of the near tier alone", beside a floor of 1,123 %.
  def test_a_ratio_that_the_noise_floor_may_explain_is_not_printed
    noisy = view(cells).tap { |one| one.results["cells"].each { |cell| cell["summary"]&.store("floor", 11.23) } }
    text = Lab::Report::Terminal.render(noisy.build)
    assert_match(/^null_store +0\.60\d us .*n\/a \[1\]/, text)
    assert_match(/^\[1\] within the noise of 14857\.3 %$/, text)
    refute_match(/0\.20\dx/, text)
  end

  def headline(cells, **) = view(cells, **).sentence

  def test_the_first_line_is_a_sentence
    headline = self.headline(cells)
    # The sentence compares no store with a store that keeps nothing.
    assert_match(/\AA hit costs 3\.00 us \[3\.00\u20133\.01\] with memory_store \(String of 100 B\); floor 0\.\d %\z/,
                 headline)
    assert_equal "Nothing could be measured.", self.headline([])
  end

  def test_a_quick_run_says_nothing_is_the_same
    comparison = compare("memory_store", "tiercel:memory:")
    same = comparison.arms.map { |arm| cell_of(comparison, arm, Array.new(4) { Array.new(5) { 3_000 } }) }
    Lab::Engine::Summary.fill(same, protocol: Lab::Engine::Protocol::QUICK)
    assert_match(/: cannot be told from tiercel:memory: here/, headline(same))
  end

  # @param ratios [Hash{String => Array(Float, Float)}] bounds of each store's blocks by memory_store's
  def compared(ratios)
    comparison = compare("memory_store", *ratios.keys)
    cells = comparison.arms.map do |arm|
      low, high = arm.role == :contestant ? ratios.fetch(arm.name) : [1.0, 1.001]
      step = (high - low) / 4
      cell_of(comparison, arm, Array.new(6) { |process| Array.new(8) { 3_000 * (low + (step * (process % 5))) } })
    end
    Lab::Engine::Summary.fill(cells, protocol: Lab::Engine::Protocol::FULL)
    headline(cells, protocol: Lab::Engine::Protocol::FULL)
  end

  def test_a_headline_leads_with_who_won
    sentence = compared("file_store:tmpfs" => [5.9, 6.1], "tiercel:memory:" => [0.19, 0.21])
    assert_match(/with tiercel:memory: .*: \S+x as fast as memory_store, \S+x as fast as file_store/, sentence)
    assert_match(/with memory_store .*: \S+x as fast as tiercel:memory:/, compared("tiercel:memory:" => [1.9, 2.1]))
  end

  def test_who_did_not_win_does_not_lead
    { [0.5, 1.1] => "cannot be told from", [0.985, 0.999] => "the same as" }.each do |between, words|
      assert_match(/with memory_store .*: #{words} tiercel:memory: here/, compared("tiercel:memory:" => between))
    end
  end

  # A run with the store of now ends with the memory of the workers.
  def test_the_answer_has_the_memory_of_the_workers
    table = Class.new(Lab::Tables::Compare::Table) { called "compare", "With few workers." }
    table.define_method(:workers) { |stores| Lab::Tables::Switch::Design.new(stores:, workers: 2, entries: 50) }
    arguments = %w[--quick --store memory_store --store tiercel:shared: --value html-2kb --op read --workers 2]
    run_table(table, *arguments, "--now", "memory_store") do |_code, command|
      text = command.out.string.split.join(" ").gsub(/[\d.]+ MB/, "M").gsub(" (M after malloc_trim)", "")
      assert_includes text, "2 workers that read 50 entries of 2 KB: M with tiercel:shared:, M with memory_store now."
    end
  end
end
