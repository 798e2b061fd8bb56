# frozen_string_literal: true

require "test_helper"
require "tiercel/lab/simulator"

class SimulatorZipfTest < Tiercel::TestCase
  Zipf = Tiercel::Lab::Simulator::Zipf

  def test_probabilities_by_hand
    zipf = Zipf.new(3, 1) # weights 1, 1/2, 1/3: sum 11/6
    assert_in_delta 6.0 / 11, zipf.probability(0), 1e-12
    assert_in_delta 3.0 / 11, zipf.probability(1), 1e-12
    assert_in_delta 2.0 / 11, zipf.probability(2), 1e-12
    assert_in_delta 0.25, Zipf.new(4, 0).probability(3), 1e-12
  end

  # Computes the probabilities from the table without drawing: each column adds its threshold to its own rank, and the
  # rest to its alias.
  def test_the_alias_table_has_exactly_the_probabilities
    [[1, 1.0], [2, 0.5], [1_000, 0.0], [1_000, 0.8], [1_000, 1.4]].each do |items, s|
      zipf = Zipf.new(items, s)
      thresholds, aliases = %i[@thresholds @aliases].map { |name| zipf.instance_variable_get(name) }
      mass = Array.new(items, 0.0)
      items.times do |column|
        mass[column] += thresholds[column] / items
        mass[aliases[column]] += (1.0 - thresholds[column]) / items
      end
      items.times { |rank| assert_in_delta zipf.probability(rank), mass[rank], 1e-9, "#{items} #{s} #{rank}" }
    end
  end

  def test_draws_follow_the_probabilities
    zipf = Zipf.new(50, 1.0)
    random = Random.new(42)
    counts = Array.new(50_000) { zipf.sample(random) }.tally
    chi_square = 50.times.sum do |rank|
      expected = zipf.probability(rank) * 50_000
      ((counts.fetch(rank, 0) - expected)**2) / expected
    end
    assert_operator chi_square, :<, 85.4, "49 degrees of freedom, p = 0.001"
  end

  def test_wrong_arguments
    assert_match(/items.*0/, assert_raises(ArgumentError) { Zipf.new(0, 1) }.message)
    assert_match(/s: .*-1/, assert_raises(ArgumentError) { Zipf.new(5, -1) }.message)
  end
end
