# frozen_string_literal: true
# suites: store

require "test_helper"
require "tiercel/backends/redis"
require "tiercel/backends/redis/echoes"

# When a heartbeat counts that was sent to several masters.
class RedisEchoesTest < Tiercel::TestCase
  def setup
    @echoes = Tiercel::Backends::Redis::Echoes.new(%i[a b])
  end

  def heard(key, *nodes) = nodes.each { |node| @echoes.heard(node, key) }
  def answered(*nodes) = nodes.map { |node| @echoes.answered(node) }

  def test_all_nodes_tell_of_it_and_all_answer_after_it
    @echoes.sent("1")
    heard("1", :a)
    heard("other", :b)
    refute @echoes.ask?(0), "one has not told of it"
    assert_equal [nil, nil], answered(:a, :b), "nobody was asked"
    heard("1", :b)
    refute @echoes.ask?(60), "a moment has to pass"
    assert @echoes.ask?(0)
    refute @echoes.ask?(0), "once"
    assert_equal [nil, nil, "1"], answered(:a, :a, :b)
    refute @echoes.ask?(0)
    assert_equal [nil, nil], answered(:a, :b)
  end

  def test_the_next_one_has_its_turn_though_it_came_meanwhile
    %w[1 2 3].each { |key| @echoes.sent(key) }
    heard("1", :a, :b)
    heard("3", :a)
    heard("2", :b)
    assert @echoes.ask?(0)
    assert_equal [nil, "1"], answered(:a, :b)
    assert @echoes.ask?(0)
    assert_equal [nil, "2"], answered(:b, :a)
    refute @echoes.ask?(0)
    heard("3", :b)
    assert @echoes.ask?(0)
  end

  def test_one_that_a_node_has_skipped_is_done_with_the_next
    %w[1 2].each { |key| @echoes.sent(key) }
    heard("2", :a, :b)
    heard("1", :a)
    assert @echoes.overdue?(-1)
    assert @echoes.ask?(0)
    assert_equal [nil, "2"], answered(:a, :b)
    refute @echoes.overdue?(-1)
  end

  def test_it_is_overdue_until_all_have_answered
    refute @echoes.overdue?(-1)
    @echoes.sent("1")
    refute @echoes.overdue?(60)
    heard("1", :a, :b)
    @echoes.ask?(0)
    answered(:a)
    assert @echoes.overdue?(-1)
    answered(:b)
    refute @echoes.overdue?(-1)
  end
end
