# frozen_string_literal: true

require_relative "../support/lab_case"

class LooksTest < LabCase
  Statistics = Lab::Statistics
  Looks = Statistics::Looks
  # Logarithms of block ratios, 96 processes of 8 blocks, as a shared virtual machine gave them: the same work once
  # more, and 5 % more of it. Blocks of the same work differ by 9 %.
  RECORDED = JSON.parse(File.read(File.join(__dir__, "recorded_ratios.json"))).transform_values do |processes|
    processes.map { |blocks| blocks.map { |log| log / 1e5 } }
  end

  def test_each_look_has_twice_the_processes_and_half_of_the_chance_to_err
    looks = Looks.new(first: 6, most: 30)
    assert_equal [6, 12, 24], looks.sizes
    assert_equal [0.025, 0.0125, 0.00625], looks.sizes.map { |size| looks.alpha(size) }
    assert_operator looks.sizes.sum { |size| looks.alpha(size) }, :<, Statistics::MedianInterval::ALPHA
    assert_equal 0.05, Looks.new(first: 4, most: 4).alpha(4)
  end

  def test_what_is_clear_needs_no_more_than_the_next_look_and_what_is_at_its_margin_too_many
    looks = Looks.new(first: 6, most: 24)
    interval = Statistics::Interval.new(0.05, 0.01, 0.09)
    assert_equal 12, looks.needed(interval, 6, distance: 0.03, most: 200)
    assert_equal 96, looks.needed(interval, 24, distance: 0.028, most: 200)
    assert_nil looks.needed(interval, 6, distance: 0.0001, most: 200)
  end

  # @return [Symbol] what a cell would be called that goes on until it is decided
  def verdict(processes, protocol)
    protocol.looks.sizes.each do |size|
      seen, alpha = processes.first(size), protocol.looks.alpha(size)
      median = Statistics::MedianInterval.of(seen, alpha:).exp
      mean = Statistics::MeanInterval.of(seen.map { |logs| logs.map { |log| Math.exp(log) } }, alpha:)
      found = protocol.verdict(median, mean, margin: protocol.margin_for([:process]))
      return found unless found == :cannot_tell
    end
    :cannot_tell
  end

  # 100 draws of 24 processes from those recorded.
  #
  # @yieldparam processes [Array<Array<Float>>]
  # @yieldreturn [Array<Array<Float>>] with a cost planted in them
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
    assert_operator found[:same], :>, 30 # the mean of these blocks, which differ by 9 %, is rarely within 4 %
  end

  def test_five_percent_more_is_found_and_never_called_the_same
    found = verdicts("planted")
    assert_empty found.keys & %i[faster same], found.inspect
    assert_operator found[:slower], :>=, 95
  end

  # In one block of eight a pause that makes it 3.5 times as long: the mean is 1.31, the median is what it was.
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
