# frozen_string_literal: true
# quick

require "test_helper"
require "active_support/cache/tiercel_store"
require "support/ruby_memory"
require "tmpdir"

# Leases over the backends that need no server; the contract of fetch covers all backends.
class LeasesTest < Tiercel::TestCase
  TTL = 30.0

  def each_leases
    Dir.mktmpdir("tiercel-leases-") do |dir|
      [RubyMemory.new, Tiercel.new("memory:").backend, Tiercel.new("file:#{dir}").backend]
        .each { |backend| yield backend.build_leases(Tiercel::Guard.new(backend)), backend }
    end
  end

  def take(leases, key = "key", ttl = TTL) = leases.take(leases.own(key, ttl, nil)) { |_bytes| :current }

  def test_one_holds_it
    each_leases do |leases, _|
      mine = take(leases)
      theirs = take(leases)
      assert_equal [true, false], [mine.mine?, theirs.mine?]
      assert mine.same_lineage?(theirs)
      refute leases.lapsed?(theirs)
    end
  end

  def test_a_fill_ends_it_and_comes_once
    each_leases do |leases, backend|
      mine = take(leases)
      assert_equal true, leases.fill(mine, "value", nil)
      assert_equal false, leases.fill(mine, "again", nil)
      assert_equal "value", backend.get("key")
      assert_equal Tiercel::Leases::Present.new("value"), take(leases)
    end
  end

  def test_whoever_takes_over_goes_on_with_the_lineage_and_the_first_that_fills_wins
    each_leases do |leases, backend|
      slow = take(leases, "key", 0.01)
      sleep 0.02
      heir = take(leases)
      assert_equal [true, true, true], [heir.mine?, heir.takeover?, heir.same_lineage?(slow)]
      assert_equal true, leases.fill(slow, "slow", nil)
      assert_equal false, leases.fill(heir, "late", nil)
      assert_equal "slow", backend.get("key")
    end
  end

  def test_a_fill_loses_against_all_else
    each_leases do |leases, backend|
      { deleted: -> { backend.delete("key") }, set: -> { backend.set("key", "other") },
        taken_anew: -> { backend.delete("key") && take(leases) } }.each do |what, change|
        backend.delete("key")
        mine = take(leases)
        change.call
        assert_equal false, leases.fill(mine, "value", nil), what
      end
    end
  end

  def test_given_back_it_is_free_and_who_waits_is_told
    each_leases do |leases, _|
      mine = take(leases)
      theirs = take(leases)
      leases.release(mine)
      assert_equal :released, leases.wait(theirs, Tiercel::Clock.monotonic + 10)
      assert take(leases).mine?
    end
  end

  def test_paused_nobody_gets_it
    each_leases do |leases, _|
      leases.release(take(leases), pause: TTL)
      paused = take(leases)
      assert_equal [false, true], [paused.mine?, paused.paused?]
    end
  end

  def test_a_second_pause_lasts_as_long_as_the_first
    each_leases do |leases, _|
      leases.release(take(leases), pause: 0.01)
      mine = nil
      wait_until("the end of the first pause") { (mine = take(leases)).mine? }
      leases.release(mine, pause: TTL)
      assert take(leases).paused?
    end
  end

  def test_what_is_in_its_place_may_stay_beside_it
    each_leases do |leases, backend|
      backend.set("key", "ended")
      mine = leases.take(leases.own("key", TTL, nil)) { |bytes| "#{bytes}, stale" }
      assert_equal "ended, stale", mine.stale
      assert_equal "ended, stale", Tiercel::Leases::Placeholder.visible(backend.get("key"))
      assert_equal true, leases.fill(mine, "new", nil)
    end
  end

  def test_several_in_one_step
    each_leases do |leases, backend|
      backend.set("there", "value")
      other = take(leases, "taken")
      wanted = %w[free taken there].map { |key| leases.own(key, TTL, nil) }
      answers = leases.take_multi(wanted) { |_lease, _bytes| :current }
      answers = wanted.map(&:key).zip(answers).to_h
      assert_equal [true, false], answers.values_at("free", "taken").map(&:mine?)
      assert_equal "value", answers["there"].bytes
      filled = leases.fill_multi({ answers["free"] => "1", other => "2" }, nil)
      assert_equal %w[free taken], filled.sort
    end
  end

  def test_damaged_placeholders_are_no_leases
    each_leases do |leases, backend|
      next unless leases.is_a?(Tiercel::Leases::Placeholders)
      take(leases)
      bytes = backend.get("key").dup
      bytes.setbyte(30, bytes.getbyte(30) ^ 1)
      assert_nil leases.seen("key", bytes)
      assert_nil leases.seen("key", "")
      backend.set("key", bytes)
      assert leases.take(leases.own("key", TTL, nil)) { |_| nil }.mine?
    end
  end
end
