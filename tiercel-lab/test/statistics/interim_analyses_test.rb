# frozen_string_literal: true

require_relative "../support/lab_case"

class LooksTest < LabCase
  Statistics = Lab::Statistics
  InterimAnalyses = Statistics::InterimAnalyses
  # Logarithms of block ratios from a shared virtual machine, 96 processes of 8 blocks: of the same work twice, and of 5
  # % more work. Blocks of the same work differ by 9 %.
  RECORDED = JSON.parse(File.read(File.join(__dir__, "recorded_ratios.json"))).transform_values do |processes|
    processes.map { |blocks| blocks.map { |log| log / 1e5 } }
  end

  def test_each_look_has_twice_the_processes_and_half_of_the_chance_to_err
    analyses = InterimAnalyses.new(first: 6, most: 30)
    assert_equal [6, 12, 24], analyses.sizes
    assert_equal [0.025, 0.0125, 0.00625], analyses.sizes.map { |size| analyses.alpha(size) }
    assert_operator analyses.sizes.sum { |size| analyses.alpha(size) }, :<, Statistics::MedianInterval::ALPHA
    assert_equal 0.05, InterimAnalyses.new(first: 4, most: 4).alpha(4)
  end

  def test_what_is_clear_needs_no_more_than_the_next_look_and_what_is_at_its_margin_too_many
    analyses = InterimAnalyses.new(first: 6, most: 24)
    interval = Statistics::Interval.new(0.05, 0.01, 0.09)
    assert_equal 12, analyses.needed(interval, 6, distance: 0.03, most: 200)
    assert_equal 96, analyses.needed(interval, 24, distance: 0.028, most: 200)
    assert_nil analyses.needed(interval, 6, distance: 0.0001, most: 200)
  end

  # @return [Symbol] verdict of a cell that continues until it is decided
  def verdict(processes, protocol)
    protocol.analyses.sizes.each do |size|
      seen, alpha = processes.first(size), protocol.analyses.alpha(size)
      median = Statistics::MedianInterval.of(seen, alpha:).exp
      mean = Statistics::MeanInterval.of(seen.map { |logs| logs.map { |log| Math.exp(log) } }, alpha:)
      found = protocol.verdict(median, mean, margin: protocol.margin_for([:process]))
      return found unless found == :cannot_tell
    end
    :cannot_tell
  end

  # Draws 24 of the recorded processes, 100 times.
  #
  # @yieldparam processes [Array<Array<Float>>]
  # @yieldreturn [Array<Array<Float>>] the same processes with a planted cost
  def verdicts(kind)
    random = Random.new(11)
    Array.new(100) do
      processes = RECORDED.fetch(kind).sample(24, random:)
      verdict(block_given? ? yield(processes) : processes, Lab::Engine::Protocol::FULL)
    end.tally
  end

  def test_the_same_work_is_never_called_different_however_often_one_looks
    found = verdicts("same")
    assert_empty found.keys & %i[faster slower], found.inspect
    assert_operator found[:same], :>, 10 # the blocks of these recordings differ by 9 %
  end

  def test_five_percent_more_is_found_and_never_called_the_same
    found = verdicts("planted")
    assert_empty found.keys & %i[faster same], found.inspect
    assert_operator found[:slower], :>=, 95
  end

  # A pause in one block of eight makes it 3.5 times as long: the mean is 1.31, the median does not change.
  def test_a_rare_pause_is_uneven_or_slower
    found = verdicts("same") do |processes|
      processes.each_with_index.map do |logs, process|
        logs.each_with_index.map { |log, block| (process + block) % 8 == 0 ? Math.log(Math.exp(log) + 2.5) : log }
      end
    end
    assert_empty found.keys & %i[faster same], found.inspect
    assert_operator found[:uneven].to_i + found[:slower].to_i, :>=, 95
  end
end
