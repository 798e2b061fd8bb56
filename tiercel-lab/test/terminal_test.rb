# frozen_string_literal: true

require_relative "support/lab_case"
require "tiercel/lab/terminal/compare_report"
require "tiercel/lab/terminal/plan_report"

class TerminalTest < LabCase
  Terminal = Lab::Terminal

  # An IO that says it is a terminal.
  class Screen < StringIO
    def tty? = true
  end

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
      cell.note("status" => "ready", "allocations" => 12.0, "stored_bytes" => 2072) unless cell.equal?(absent)
    end
    Lab::Summary.fill(made, protocol: Lab::Protocol::QUICK)
    made
  end

  def test_figures_have_three_digits_that_mean_something
    figures = Terminal::Figures
    assert_equal %w[0.604 12.3 1540 0 0.0833],
                 [0.6041, 12.34, 1540.4, 0, 0.083333].map { |number| figures.plain(number) }
    assert_equal "0.604", figures.us(604)
    assert_equal ["45 s", "2 min 05 s"], [figures.duration(45), figures.duration(125)]
    assert_equal ["1,234,567", ""], [figures.bytes(1_234_567), figures.bytes(nil)]
  end

  def test_a_table_is_aligned_and_refuses_ragged_rows
    table = Terminal::Table.new([["name", :left], ["us", :right]])
    table.row(%w[a 1.5]).row(["longer", 100]).note("none", "why not")
    assert_equal "name     us\na       1.5\nlonger  100\nnone    why not\n", table.to_s
    assert_raises(ArgumentError) { table.row(["one"]) }
  end

  def test_colours_only_at_a_terminal_and_not_against_the_users_wish
    assert_equal "\e[32mx\e[0m", Terminal::Style.new(Screen.new, {}).paint("x", :green)
    assert_equal "x", Terminal::Style.new(Screen.new, { "NO_COLOR" => "1" }).paint("x", :green)
    assert_equal "x", Terminal::Style.new(StringIO.new, {}).paint("x", :green)
  end

  def test_progress_has_no_control_characters_in_a_pipe
    pipe = StringIO.new
    progress = Terminal::Progress.new(pipe, expected_seconds: 10)
    progress.instance_variable_set(:@shown, -100.0)
    progress.advance(5, "html-2kb/read")
    progress.say("a word")
    progress.clear
    assert_match(/\A50 %, \d+ s left: html-2kb\/read\na word\n\z/, pipe.string)
  end

  def test_progress_at_a_terminal_is_one_line
    screen = Screen.new
    progress = Terminal::Progress.new(screen, expected_seconds: 10)
    progress.advance(5, "html-2kb/read")
    assert_match(/\A\r\e\[K50 %, \d+ s left: html-2kb\/read\z/, screen.string)
  end

  def test_the_table_of_a_value_keeps_what_cannot_run
    table = Terminal::ValueTable.new(Lab::Values.fetch("string-100b"), cells).to_s
    assert_match(/\AString of 100 B \(noise floor: in-process 0\.\d %\)$/, table)
    assert_match(/^  memory_store +3\.00 +\[.*\] +0 +1 \(baseline\) +\u250A +12 +2,072$/, table)
    assert_match(/^  null_store +0\.604 .*0\.20\d \[0\.\d+-0\.\d+\] +\u25CF +\u250A +faster/, table)
    assert_match(/^  planted_absent +cannot run: gem x is not in the bundle: add gem "x"$/, table)
    refute_match(/again/, table)
  end

  def headline(cells)
    results = results_of("compare", cells:)
    Lab::Documents::Headline.new(results, command: "").to_s
  end

  def test_the_first_line_is_a_sentence
    headline = self.headline(cells)
    # A store that keeps nothing is nobody to be compared with.
    assert_match(/\AA hit costs 3\.00 us \[3\.00-3\.01\] with memory_store \(String of 100 B\); floor 0\.\d %\z/,
                 headline)
    assert_equal "Nothing could be measured.", self.headline([])
  end

  # @param ratios [Hash{String => Array(Float, Float)}] of stores to memory_store, between which their blocks lie
  def compared(ratios)
    comparison = compare("memory_store", *ratios.keys)
    cells = comparison.arms.map do |arm|
      low, high = arm.role == :contestant ? ratios.fetch(arm.name) : [1.0, 1.001]
      step = (high - low) / 4
      cell_of(comparison, arm, Array.new(6) { |process| Array.new(8) { 3_000 * (low + (step * (process % 5))) } })
    end
    Lab::Summary.fill(cells, protocol: Lab::Protocol::FULL)
    headline(cells)
  end

  def test_a_headline_leads_with_who_won
    sentence = compared("file_store:tmpfs" => [5.9, 6.1], "tiercel:memory:" => [0.19, 0.21])
    assert_match(/with tiercel:memory: .*: \S+x as fast as memory_store, \S+x as fast as file_store/, sentence)
    assert_match(/with memory_store .*: \S+x as fast as tiercel:memory:/, compared("tiercel:memory:" => [1.9, 2.1]))
  end

  def test_who_did_not_win_does_not_lead
    { [0.5, 1.1] => "not to be told from", [0.985, 0.999] => "the same as" }.each do |between, words|
      assert_match(/with memory_store .*: #{words} tiercel:memory: here/, compared("tiercel:memory:" => between))
    end
  end

  def test_a_plan_has_every_comparison_and_a_time
    plan = Terminal::PlanReport.new([compare("memory_store", "mem_cache_store")], protocol: Lab::Protocol::FULL).to_s
    assert_match(/\A2 cells in about .*6 processes \(to 24 where cells are undecided\) x 8 blocks;/, plan)
    assert_match(/\A.* servers to start: memcached\.$/, plan)
    assert_match(/^string-100b  read +2 .*memory_store, mem_cache_store$/, plan)
  end
end
