# frozen_string_literal: true

require_relative "../support/lab_case"

class AnswerChoiceTest < LabCase
  Answer = Lab::Answer
  MEGABYTE = 1024 * 1024

  # @param spread [Float] half of the interval's width
  def candidate(text, us, spread: 0.01, margin: 0.02, **more)
    page_us = Lab::Statistics::Interval.new(us, us * (1 - spread), us * (1 + spread))
    Answer::Candidate.of({ "text" => text, "configuration" => "config.cache_store = #{text}" }, page_us:, margin:,
                         page_calls: 20.0, page_bytes: 50_000.0, **more)
  end

  def all
    { "memory_store" => 40, "tiercel:memory:" => 30, "tiercel:shared:" => 35, "file_store:disk" => 900,
      "tiercel:sqlite:" => 400, "mem_cache_store" => 2_000, "redis_cache_store" => 2_400,
      "tiercel:shared: redis:" => 60 }.map { |text, us| candidate(text, us) }
  end

  def choice(candidates = all, equality: true, **constraints)
    Answer::Choice.new(candidates, Answer::Constraints.new(**constraints), equality:)
  end

  def first(...) = choice(...).first&.text

  def test_the_cheapest_that_breaks_no_constraint
    assert_equal "tiercel:memory:", first
    assert_equal "tiercel:shared:", first(workers: 4)
    assert_equal "tiercel:shared:", first(workers: 4, survives: "restart")
    assert_equal "tiercel:sqlite:", first(workers: 4, survives: "reboot")
    assert_equal "tiercel:shared: redis:", first(machines: 2, workers: 4)
    assert_equal "tiercel:shared: redis:", first(machines: 2, survives: "reboot")
  end

  def test_a_page_that_does_not_fit_breaks_the_constraint_of_memory
    small = choice(workers: 4, memory_bytes: 40_000)
    assert_equal "tiercel:shared: redis:", small.first.text
    reasons = small.broken.to_h { |one, reason| [one.text, reason] }
    assert_match(/does not fit/, reasons["tiercel:shared:"])
    assert_match(/each of 4 workers/, reasons["memory_store"])
    shared = candidate("tiercel:shared:", 1)
    assert_equal 20, shared.pages(Answer::Constraints.new(workers: 4, memory_bytes: MEGABYTE))
    private_pages = candidate("memory_store", 1).pages(Answer::Constraints.new(workers: 4, memory_bytes: MEGABYTE))
    assert_equal 5, private_pages
    assert_nil candidate("redis_cache_store", 1).pages(Answer::Constraints.new)
  end

  def test_nothing_that_differs_is_told_apart
    same = [candidate("tiercel:shared:", 100), candidate("file_store:tmpfs", 100.5), candidate("tiercel:sqlite:", 300)]
    found = choice(same, workers: 2)
    refute_predicate found, :clear?
    assert_equal %w[file_store:tmpfs], found.tied.map(&:text)
    wide = [candidate("tiercel:shared:", 100, spread: 0.5), candidate("file_store:tmpfs", 150, spread: 0.5)]
    refute_predicate choice(wide, workers: 2), :clear?
    assert_predicate choice(all, workers: 2), :clear?
  end

  # The noisier of two stores decides the margin.
  def test_the_margin_is_that_of_the_two_compared
    quiet = [candidate("tiercel:shared:", 100), candidate("file_store:tmpfs", 120)]
    assert_predicate choice([*quiet, candidate("file_store:disk", 9_000, margin: 5.0)], workers: 2), :clear?
    refute_predicate choice([*quiet, candidate("file_store:disk", 400, margin: 5.0)], workers: 2), :clear?
  end

  def test_a_trip_to_another_machine_counts
    found = choice(machines: 3)
    assert_in_delta 60 + (20 * 500 * 0.1), found.cost(found.first).estimate, 0.01
    assert_in_delta 2_000 + (20 * 500), found.cost(all.find { |one| one.text == "mem_cache_store" }).estimate, 0.01
    assert_in_delta 35, choice(workers: 2).then { |one| one.cost(one.first).estimate }, 0.01
  end

  def test_other_constraints_that_change_the_first_choice
    changes = choice(workers: 4).changes.to_h { |other, one| [other.given.sort, one.text] }
    assert_equal({ %w[machines workers] => "tiercel:memory:", %w[machines] => "tiercel:shared: redis:",
                   %w[survives] => "tiercel:sqlite:" }, changes)
  end

  def test_nothing_suits
    found = choice([candidate("memory_store", 1)], machines: 2, workers: 4)
    assert_nil found.first
    assert_equal [[], false, 1], [found.shown, found.clear?, found.broken.size]
  end

  # Random constraints and costs: the choice sees the costs with noise, and an exhaustive search over the true costs
  # judges it.
  def test_the_first_choice_is_within_five_percent_of_an_exhaustive_search
    random = Random.new(20_261_122)
    close = broken = 0
    cases = Array.new(200) do
      constraints = Answer::Constraints.new(machines: [1, 1, 2].sample(random:), workers: [1, 2, 8].sample(random:),
                                            survives: Answer::Constraints::SURVIVES.sample(random:))
      costs = all.to_h { |one| [one.text, Math.exp(random.rand * 5) * 10] }
      seen = costs.map { |text, us| candidate(text, us * (1 + ((random.rand - 0.5) * 0.06)), spread: 0.03) }
      found = Answer::Choice.new(seen, constraints)
      truth = Answer::Choice.new(costs.map { |text, us| candidate(text, us) }, constraints)
      [found, truth, costs]
    end
    cases.each do |found, truth, _costs|
      broken += 1 if found.first.breaks(found.constraints)
      chosen, best = [found, truth].map { |one| truth.cost(candidate_of(truth, one.first.text)).estimate }
      close += 1 if chosen <= best * 1.05
    end
    assert_equal 0, broken
    assert_operator close, :>=, 190
  end

  def candidate_of(choice, text) = choice.instance_variable_get(:@candidates).find { |one| one.text == text }
end
