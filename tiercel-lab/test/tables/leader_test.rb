# frozen_string_literal: true

require_relative "../support/lab_case"

class LeaderTest < LabCase
  def leader(intervals, margin: 0.02)
    Lab::Tables::Leader.new(intervals.transform_values { |bounds| Lab::Statistics::Interval.new(*bounds) }, margin:)
  end

  def test_one_that_is_faster_than_all_others
    found = leader({ "a" => [1.0, 1.0, 1.0], "b" => [0.5, 0.48, 0.52], "c" => [0.7, 0.65, 0.75] })
    assert found.clear?
    assert_equal "b is the fastest", found.to_s
    assert_equal :faster, found.verdict("b", "c")
    assert_in_delta 1.4, found.factor("b", "c"), 0.001
  end

  # The smallest estimate is not the fastest here, because its interval is too wide.
  def test_the_least_estimate_does_not_lead_where_it_did_not_win
    found = leader({ "a" => [0.5, 0.45, 0.55], "auto + zlib" => [0.455, 0.306, 1.033], "b" => [1.0, 1.0, 1.0] })
    refute found.clear?
    assert_equal "which is the fastest cannot be told (a, auto + zlib or b)", found.to_s
    assert_equal "a", found.first
  end

  def test_within_the_margin_nobody_is_ahead
    assert_equal %w[a b], leader({ "a" => [1.0, 1.0, 1.0], "b" => [0.99, 0.985, 0.995] }).ahead
    assert_equal %w[b], leader({ "a" => [1.0, 1.0, 1.0], "b" => [0.9, 0.89, 0.91] }, margin: 0.05).ahead
  end

  # While the disk is busy, a quick run's margin for the disk may be several hundred percent.
  def test_a_noisy_third_does_not_hide_the_faster_of_two
    intervals = { "memory" => [1.0, 1.0, 1.0], "shared" => [0.43, 0.39, 0.51], "disk" => [14.3, 11.5, 34.3] }
    found = leader(intervals, margin: { "memory" => 0.1, "shared" => 0.1, "disk" => 8.0 })
    assert_equal "shared is the fastest", found.to_s
    refute_predicate leader(intervals, margin: 8.0), :clear?
  end

  # Names only the ends that verdicts support.
  def test_the_span_of_several
    far = leader({ "a" => [1.0, 1.0, 1.0], "b" => [5.0, 4.9, 5.1], "c" => [9.0, 4.0, 12.0] })
    assert_equal "from a to b or c", far.span
    assert_equal %w[b c], far.behind
    assert_equal "from A to B or C", far.span(&:upcase)
    assert_equal "from a to b", leader({ "a" => [1.0, 1.0, 1.0], "b" => [5.0, 4.9, 5.1] }).span
    assert_equal "a and b, which cannot be told apart",
      leader({ "a" => [1.0, 0.9, 1.1], "b" => [1.2, 0.8, 1.3] }).span
    assert_equal "a", leader({ "a" => [1.0, 0.9, 1.1] }).span
  end

  def test_two_of_them_in_words
    found = leader({ "a" => [1.0, 1.0, 1.0], "b" => [2.0, 1.9, 2.1], "c" => [1.0, 0.99, 1.01], "d" => [1.2, 0.8, 1.4] })
    assert_equal ["2.00x the time of A", "0.500x as fast as A"], words(found, "b")
    assert_equal ["the same time as A", "the same as A"], words(found, "c")
    assert_equal ["a time that cannot be told from that of A", "not to be told from A"], words(found, "d")
  end

  def words(leader, name) = [leader.time_words(name, "a", "A"), leader.speed_words(name, "a", "A")]

  def test_many_that_cannot_be_told_apart_are_counted
    many = leader(("a".."f").to_h { |name| [name, [1.0, 0.9, 1.1]] })
    assert_equal "a, b, c or 3 more", many.words
    assert_equal "nobody is the fastest", leader({}).to_s
  end
end
