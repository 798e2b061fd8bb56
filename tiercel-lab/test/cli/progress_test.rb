# frozen_string_literal: true

require_relative "../support/lab_case"

class ProgressTest < LabCase
  # An IO that claims to be a terminal.
  class Screen < StringIO
    def tty? = true
  end

  def test_progress_has_no_control_characters_in_a_pipe
    pipe = StringIO.new
    progress = Lab::CLI::Progress.new(pipe, expected_seconds: 10)
    progress.instance_variable_set(:@shown, -100.0)
    progress.advance(5, "html-2kb/read")
    progress.say("a word")
    progress.clear
    assert_match(/\A50 %, \d+ s left: html-2kb\/read\na word\n\z/, pipe.string)
  end

  def test_progress_at_a_terminal_is_one_line
    screen = Screen.new
    progress = Lab::CLI::Progress.new(screen, expected_seconds: 10)
    progress.advance(5, "html-2kb/read")
    assert_match(/\A\r\e\[K50 %, \d+ s left: html-2kb\/read\z/, screen.string)
  end

  def test_the_first_figures_come_after_one_process
    pipe = StringIO.new
    progress = Lab::CLI::Progress.new(pipe, expected_seconds: 10)
    Lab::Engine::Measurement.new([compare("memory_store", "null_store")], protocol: TINY, seed: 1, progress:).run
    assert_match(%r{\AFirst figures, of one process: string-100b/read: memory_store [\d.]+ us, null_store [\d.]+ us$},
                 pipe.string)
    assert_equal 1, pipe.string.scan("First figures").size
  end

  def test_a_plan_has_every_comparison_and_a_time
    plan = Lab::CLI::Plan.new([compare("memory_store", "mem_cache_store")], protocol: Lab::Engine::Protocol::FULL)
                         .to_s(Lab::Report::Terminal::Style.new(nil))
    blocks = Lab::Engine::Protocol::FULL.blocks
    assert_match(/\A2 cells in about .*6 processes \(to 24 where cells are undecided\) x #{blocks} blocks; /, plan)
    assert_match(/; servers to start: memcached\.$/, plan)
    assert_match(/^string-100b  read +2 .*memory_store, mem_cache_store$/, plan)
  end

  def test_a_plan_of_many_stores_names_the_first_ones
    options = Array.new(9) { |index| "memory_store#size=#{index + 1}MB" }
    plan = Lab::CLI::Plan.new([compare(*options)], protocol: Lab::Engine::Protocol::FULL)
                         .to_s(Lab::Report::Terminal::Style.new(nil))
    assert_match(/#{options.first(3).map { |name| Regexp.escape(name) }.join(", ")} and 6 more$/, plan)
  end
end
