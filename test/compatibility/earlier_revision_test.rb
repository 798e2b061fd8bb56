# frozen_string_literal: true
# suites: store

require "test_helper"
require "tiercel/segment"
require_relative "../support/earlier_revision"

# During a deploy, processes of two versions share a cache. Each reads the other's frames, SQLite files and file
# caches; segments of another layout are files of their own.
class EarlierRevisionTest < Tiercel::TestCase
  TOGETHER = true # the revision is compiled once
  REVISION = "d6db077"
  VALUES = {
    "text" => "größe", "bytes" => "\xFF\x00".b, "latin" => "gr\xF6\xDFe".dup.force_encoding("ISO-8859-1"),
    "nil" => nil, "plain" => [1, -2, 2**63, 1.5, :symbol, { "a" => [nil, true] }],
    "other" => [1..3, 2**70, Time.at(1_700_000_000, 5)], "large" => "<li>a row</li>" * 20_000,
    "large rows" => Array.new(2_000) { |i| { id: i, name: "row #{i}" } }
  }.freeze
  OPEN = 'require "tiercel"; VALUES = Marshal.load(%<values>p.unpack1("m")); store = Tiercel.new(%<url>p)'

  class << self
    def earlier = @earlier ||= EarlierRevision.checkout(REVISION)
  end

  def setup
    skip "this clone has no #{REVISION}" unless EarlierRevision.available?(REVISION)
  end

  %w[sqlite file].each do |scheme|
    define_method("test_#{scheme}_is_read_and_written_by_both_at_once") do
      beside("#{scheme}:%s/cache") do |store, ask|
        either_reads_what_the_other_wrote(store, ask)
        counters_tags_and_deletes_are_shared(store, ask)
        leases_are_shared(store, ask)
      end
    end
  end

  def test_an_entry_expires_for_both_at_one_time
    beside("file:%s/cache") do |store, ask|
      store.write("here", 1, expires_in: 60)
      ask.call('store.write("there", 1, expires_in: 60)')
      travel(40) { assert_equal [1, 1], [store.read("here"), store.read("there")] }
      travel(61) { assert_equal [nil, nil], [store.read("here"), store.read("there")] }
      moved = 'require "tiercel/contracts/moved_clock"; Tiercel::Contracts::MovedClock.by(61) { store.read("here") }'
      assert_nil ask.call(moved)
    end
  end

  # The earlier revision has another layout. While processes use both segments, neither reads, damages or removes the
  # other's.
  def test_another_layout_has_a_file_of_its_own
    name = "tiercel-test-layout-#{Process.pid}"
    store = Tiercel.new("shared:#{name}", size: "8MB")
    2.times do |round|
      self.class.earlier.run(format(OPEN, url: "shared:#{name}", values: [Marshal.dump({})].pack("m0"))) do |ask|
        paths = [store.backend.segment.path, ask.call("store.backend.segment.path")]
        assert_equal %w[.v3 .v2], paths.map { |path| File.extname(path) }
        before = round - 1 if round.positive?
        assert_equal [before, before], [store.read("here"), ask.call('store.read("there")')]
        store.write("here", round)
        ask.call("store.write('there', #{round})")
        assert_equal [round, nil], [store.read("here"), store.read("there")]
        assert_equal [nil, round], ask.call("[store.read('here'), store.read('there')]")
      end
    end
    assert_equal 1, store.read("here")
  ensure
    store&.close
    FileUtils.rm_f(Dir["{/dev/shm,#{Dir.tmpdir}}/{,tiercel-}#{name}*"]) if name
  end

  private

  # @param url [String] a URL with a placeholder for the folder
  # @yieldparam store [ActiveSupport::Cache::TiercelStore] the store of this process
  # @yieldparam ask [#call] evaluates code in a process of the earlier revision
  def beside(url)
    with_tmpdir do |folder|
      url = format(url, folder)
      store = Tiercel.new(url)
      values = [Marshal.dump(VALUES)].pack("m0")
      self.class.earlier.run(format(OPEN, url:, values:)) { |ask| yield store, ask }
    ensure
      store&.close
    end
  end

  def either_reads_what_the_other_wrote(store, ask)
    VALUES.each { |name, value| store.write("here #{name}", value, version: 3) }
    ask.call('VALUES.each { |name, value| store.write("there #{name}", value, version: 3) }; nil')
    here = ask.call('VALUES.keys.to_h { |name| [name, store.read("here #{name}", version: 3)] }')
    there = VALUES.keys.to_h { |name| [name, store.read("there #{name}", version: 3)] }
    assert_equal [Marshal.dump(VALUES)] * 2, [Marshal.dump(VALUES.merge(here)), Marshal.dump(VALUES.merge(there))]
    assert_equal VALUES.keys.size, ask.call('store.read_multi(*VALUES.keys.map { |name| "here #{name}" }).size')
    assert_nil store.read("there plain", version: 4)
    assert_nil ask.call('store.read("here plain", version: 4)')
  end

  def counters_tags_and_deletes_are_shared(store, ask)
    3.times { store.increment("count") && ask.call('store.increment("count")') }
    assert_equal [6, 6], [store.read_counter("count"), ask.call('store.read_counter("count")')]
    store.write("tagged here", 1, tags: ["t"])
    ask.call('store.write("tagged there", 1, tags: ["t"])')
    assert_equal [1, 1], [store.read("tagged there"), ask.call('store.read("tagged here")')]
    ask.call('store.invalidate_tags("t")')
    assert_equal [nil, nil], [store.read("tagged here"), store.read("tagged there")]
    ask.call('store.delete("here text")')
    assert_nil store.read("here text")
    store.delete_matched("there *")
    assert_equal({}, ask.call('store.read_multi(*VALUES.keys.map { |name| "there #{name}" })'))
  end

  # One process computes, the other one waits for the value.
  def leases_are_shared(store, ask)
    begun = Queue.new
    go_on = Queue.new
    holder = Thread.new { store.fetch("leased") { begun << true; go_on.pop } }
    begun.pop
    waiter = Thread.new { ask.call('store.fetch("leased") { "computed by the waiter" }') }
    sleep 0.05 # the other process fetches now; it gets the value immediately or after a wait
    go_on << "computed once"
    assert_equal ["computed once"] * 2, [holder.value, waiter.value]
  end
end
