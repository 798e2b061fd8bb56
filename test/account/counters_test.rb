# frozen_string_literal: true

require "test_helper"
require "tiercel/account"

# The counters of an account in C and in Ruby.
class AccountCountersTest < Tiercel::TestCase
  PAGE = Tiercel::Codec.native&.const_get(:CounterPage)
  FORMS = [Tiercel::Account::Counters, PAGE].compact.freeze

  def each_form = FORMS.each { |form| yield form.equal?(PAGE) ? form.new(nil) : form.new }
  def begin_second(counters, second) = Time.stub(:now, Time.at(second)) { counters.due? }

  def test_a_miss_adds_to_both_counters
    each_form do |counters|
      counters.miss(18, 37)
      counters.miss(18, nil)
      assert_equal [2, 1, 0], [18, 37, 511].map { |index| counters.load(index) }
      assert_equal [2, 1, 0], [18, 37, 511].map { |index| counters.own(index) }
    end
  end

  def test_a_block_adds_its_duration_to_the_next_counter
    each_form do |counters|
      noted = [40_000, 150_000, 50_000, 40_000, 1].map { |duration| counters.block(18, duration) }
      assert_equal [nil, 150_000, nil, 130_000, nil], noted
      assert_equal [5, 280_001], [18, 19].map { |index| counters.load(index) }
    end
  end

  def test_the_misses_of_a_second_are_sampled
    each_form do |counters|
      [100, 101].each do |second|
        begin_second(counters, second)
        weights = Array.new(1_512) { counters.miss(18, nil) }
        assert_equal [1] * 100, weights.shift(100)
        some = weights.shift(900).compact
        assert_equal [[16], [256]], [some.uniq, weights.compact.uniq]
        assert_includes 55..57, some.size
        assert_includes 1..3, weights.compact.size
      end
    end
  end

  # After a long round no round is due for some seconds.
  def test_each_second_of_a_long_rest_has_its_own_sample
    each_form do |counters|
      counters.rest(100, 159)
      weights = (100..102).map do |second|
        begin_second(counters, second)
        Array.new(300) { counters.miss(18, nil) }.first(100)
      end
      assert_equal [[1] * 100] * 3, weights
    end
  end

  # A request often misses its keys in the same order.
  def test_keys_in_a_fixed_order_have_similar_shares
    each_form do |counters|
      shares = [0] * 4
      60.times do |second|
        begin_second(counters, second)
        2_000.times { |index| shares[index % 4] += counters.miss(18, nil) || 0 }
      end
      assert_in_delta 120_000, shares.sum, 5_000
      shares.each { |share| assert_in_delta 30_000, share, 10_000 }
    end
  end

  # A request often reads its keys in the same order, too.
  def test_hits_of_keys_in_a_fixed_order_have_similar_shares
    each_form do |counters|
      shares = [0] * 4
      (256 * 400).times { |index| shares[index % 4] += 1 if counters.hit(18) }
      assert_includes 399..401, shares.sum
      shares.each { |share| assert_in_delta 100, share, 20 }
    end
  end

  def test_a_round_is_due_outside_of_its_rest
    each_form do |counters|
      assert_predicate counters, :due?
      counters.rest(100, 102)
      due = [99, 100, 102, 103].map { |second| Time.stub(:now, Time.at(second)) { counters.due? } }
      assert_equal [true, false, false, true], due
      now = Time.now.to_i
      counters.rest(now - 60, now + 60)
      refute_predicate counters, :due?
    end
  end

  def test_hostile_arguments
    page = (PAGE || skip("the extension is not built")).new(nil)
    [-1, 512, 1 << 40].each do |index|
      assert_raises(IndexError) { page.miss(index, 1) }
      assert_raises(IndexError) { page.miss(1, index) }
      assert_raises(IndexError) { page.block(index, 1) }
    end
    assert_raises(IndexError) { page.block(511, 1) }
    assert_raises(ArgumentError) { page.block(1, -1) }
    [nil, "1", 1 << 64].each { |amount| assert_raises(TypeError, RangeError) { page.block(1, amount) } }
    assert_raises(TypeError) { page.rest(nil, 1) }
    assert_raises(RuntimeError) { page.send(:initialize, nil) }
    %i[due? forget_own].each { |name| assert_raises(RuntimeError) { PAGE.allocate.public_send(name) } }
    assert_equal [0] * 512, Array.new(512) { |index| page.load(index) }
  end
end
