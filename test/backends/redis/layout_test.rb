# frozen_string_literal: true
# suites: store

require "test_helper"
require "tiercel/backends/redis"
require "redis-cluster-client"
require "tiercel/backends/redis/layout"

# The layout of a cluster, as one node describes it.
class RedisLayoutTest < Tiercel::TestCase
  TEXT = <<~REPLY
    a1 127.0.0.1:30001@31001 myself,master - 0 0 1 connected 0-5460 5462 [93->-d4] [5462-<-b2]
    b2 127.0.0.1:30002@31002,host-2 master,fail? - 0 1 2 connected 5463-10922 5461
    c3 127.0.0.1:30003@31003 master,fail - 0 1 3 disconnected 10923-16383
    d4 127.0.0.1:30004@31004 master - 0 1 4 connected
    e5 127.0.0.1:30005@31005 slave a1 0 1 1 connected
    f6 127.0.0.1:30006@31006 master,fail - 0 1 0 disconnected
    g7 :0@0 master,noaddr - 0 1 0 disconnected
    h8 127.0.0.1:30008@31008 handshake - 0 0 0 disconnected
  REPLY

  def layout(text = TEXT) = Tiercel::Backends::Redis::Layout.new(text)

  # One that has failed and has slots may take writes when it is back; one without slots, when the others know of it.
  def test_masters_are_those_that_a_write_may_go_to
    assert_equal %w[a1 b2 c3 d4], layout.masters.map(&:id)
    assert_equal "a1", layout.myself.id
    assert_predicate layout, :complete?
  end

  def test_a_slot_on_its_way_is_not_kept
    myself = layout.myself
    assert_equal [true, true, false, false, false], [0, 5460, 5461, 5462, 93].map { |slot| myself.keeps?(slot) }
  end

  def test_a_cluster_with_a_slot_that_nobody_has_is_none
    refute_predicate layout(TEXT.sub(" 5461\n", "\n")), :complete?
    refute_predicate layout("a1 127.0.0.1:1@2 myself,master - 0 0 0 connected\n"), :complete?
    refute_predicate layout(""), :complete?
    assert_nil layout("").myself
  end
end
