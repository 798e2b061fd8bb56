# frozen_string_literal: true
# suites: store

require "test_helper"
require_relative "servers"

# Connections over which all masters of a cluster tell of what changes.
class RedisClusterSubscriptionTest < Tiercel::TestCase
  def setup
    @backend = RedisServers.build(RedisServers.cluster.url)
    @subscription = @backend.subscription.open
    @beat = "beat#{object_id}" # nodes still tell of the end of those of other tests
  end

  def teardown
    @subscription.close
    @backend.close
  end

  # The node's messages until the block returns true.
  def told(node)
    told = []
    told << node.read(5) until !told.empty? && yield(told.last)
    told
  end

  def echo(node) = told(node) { |keys| keys && keys.any? { |key| key.start_with?(@beat) } }

  # As it is told of it only with the last answer, what was changed before has been put away by then.
  def test_a_heartbeat_is_told_of_once_all_have_answered
    @backend.set_multi((0...60).to_h { |number| ["key#{number}", "x"] })
    @subscription.beat(@beat)
    nodes = @subscription.streams
    news = nodes[0..1].flat_map { |node| echo(node) }
    @subscription.confirm(0)
    news.concat(echo(nodes.last))
    assert_equal 60, news.flatten.grep(/\Akey/).uniq.size
    refute_includes news.flatten, @beat
    @subscription.confirm(60) # not yet
    @subscription.confirm(0)
    answers = nodes.map { |node| node.read(5) }
    assert_equal [false, false, [@beat]], answers
  end

  def test_what_all_nodes_tell_is_all_that_changes
    [*0..20].each { |number| @backend.set("key#{number}", "x") }
    @backend.clear
    @subscription.beat(@beat)
    news = @subscription.streams.map { |node| echo(node) }
    assert_equal 21, news.flatten.compact.grep(/\Akey/).uniq.size
    news.each { |of_one| assert_includes of_one, nil }
  end

  def test_a_heartbeat_that_is_not_confirmed_is_given_up
    @subscription.beat(@beat)
    @subscription.confirm(0)
    beats = @subscription.instance_variable_get(:@echoes).instance_variable_get(:@beats)
    beats.each_value { |beat| beat[1] -= 60 }
    assert_raises(Tiercel::TimedOut) { @subscription.confirm(0) }
  end
end
