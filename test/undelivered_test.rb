# frozen_string_literal: true
# suites: kernel
# quick

require "test_helper"
require "minitest/mock"

class UndeliveredTest < Tiercel::TestCase
  # A server that can be away. The server records what it is asked.
  class FakeServer < Tiercel::Backend
    attr_reader :asked
    attr_accessor :away, :refused, :on_ask

    def initialize
      @asked = []
      @refused = {}
    end

    def remote? = true
    def to_s = "fake://server"

    def delete_frames(keys)
      ask(:delete_frames, keys)
      refused.slice(*keys)
    end

    def delete(key) = ask(:delete, key)
    def get(key) = ask(:get, key)

    private

    def ask(*call)
      raise Tiercel::Unavailable.new("is down", backend: to_s) if away
      @asked << call
      on_ask&.call(call.first)
      "bytes"
    end
  end

  def setup
    @server = FakeServer.new
    @now = 100.0
    @guard = Tiercel::Guard.new(@server, clock: -> { @now }, breaker: false)
  end

  # Without the attempts in the background, which would deliver beside the test's calls.
  def run
    return super if name == "test_the_list_is_sent_without_a_call"
    Tiercel::BackgroundThread.stub(:new, ->(*, **) { Struct.new(:start, :stop).new }) { super }
  end

  def delete(*keys)
    @guard.call(:delete_multi_entries, returning: 0, keys:) { keys.each { |key| @server.delete(key) }.size }
  end

  def read(key) = @guard.call(:read_entry, key) { @server.get(key) }

  def outage(&)
    @server.away = true
    capture_reports(&)
  ensure
    @server.away = false
    @server.asked.clear
  end

  # Keys of the rest are not read as long as they wait.
  def test_a_long_list_takes_a_bounded_time_of_each_call
    keys = Array.new(1_000) { |index| "key-#{index}" }
    outage { delete(*keys) }
    @server.on_ask = ->(method) { @now += 0.15 if method == :delete_frames }
    assert_nil read(keys.last)
    assert_equal [200, 200], @server.asked.map { |_, page| page.size }
    assert_equal 600, @guard.undelivered.size
    assert_equal "bytes", read("other")
    assert_equal 200, @guard.undelivered.size
    assert_equal "bytes", read(keys.last)
    assert_equal 0, @guard.undelivered.size
  end

  def test_a_delete_that_met_an_outage_is_sent_before_the_next_read
    outage { delete("a", "b") }
    assert_equal "bytes", read("c")
    assert_equal [[:delete_frames, %w[a b]], [:get, "c"]], @server.asked
    read("a")
    assert_equal 3, @server.asked.size, "and only once"
    assert_equal 0, @guard.undelivered.size
  end

  def test_an_invalidation_deletes_whatever_is_there
    outage { @guard.call(:invalidate_tags, keys: ["app:tiercel:tag:t"]) { @server.delete("t") } }
    read("c")
    assert_equal [[:delete, "app:tiercel:tag:t"], [:get, "c"]], @server.asked
  end

  def test_nothing_but_deletes_is_noted
    outage do
      read("a")
      @guard.call(:write_entry, "a") { @server.get("a") }
      @guard.call(:increment, "a") { @server.get("a") }
    end
    refute @guard.undelivered.any?
  end

  # Other processes may still have to delete what the server has. Writes and deletes lose nothing.
  def test_after_an_outage_nothing_is_read_until_other_lists_are_sent
    @guard = Tiercel::Guard.new(@server, clock: -> { @now }, breaker: { failures: 1 })
    outage { read("x") || delete("a") }
    assert_nil read("a"), "the breaker is open"
    @now += 1
    assert_nil read("b"), "this call asks whether the server answers"
    assert_equal [nil, {}], [read("b"), @guard.call(:read_multi_entries, returning: {}, keys: %w[a b]) { flunk }]
    assert_equal "bytes", @guard.call(:write_entry, "b") { @server.get("c") }
    assert_equal [[:delete_frames, ["a"]], [:get, "b"], [:get, "c"]], @server.asked
    @now += Tiercel::Undelivered::SETTLE_SECONDS
    assert_equal ["bytes", false], [read("b"), @guard.undelivered.any?]
  end

  def test_a_short_failure_and_one_of_several_servers_cost_no_misses
    @guard = Tiercel::Guard.new(@server, clock: -> { @now }, breaker: { failures: 2, cool_down: 1 })
    outage { read("x") }
    assert_equal "bytes", read("a")
    outage { 2.times { read("x") } }
    @now += 1
    @server.stub(:several_servers?, true) { read("a") }
    assert_equal "bytes", read("a")
  end

  def test_the_list_is_sent_without_a_call
    @guard = Tiercel::Guard.new(@server, clock: -> { @now }, breaker: { failures: 1, cool_down: 600 })
    outage { delete("a") }
    assert_predicate @guard, :open?
    wait_until("the delete") { @server.asked.any? }
    wait_until("the end of the outage") { !@guard.open? }
    assert_nil read("b"), "others have lists too"
    assert_equal [[:delete_frames, ["a"]]], @server.asked
  end

  # One server of several is away: its keys are misses, the others are read.
  def test_keys_that_cannot_be_deleted_yet_are_misses
    outage { delete("a", "b") }
    @server.refused = { "b" => Tiercel::Unavailable.new("node is down") }
    assert_equal "bytes", read("a")
    assert_nil read("b")
    assert_equal %w[a c], @guard.call(:read_multi_entries, keys: %w[a b c]) { |keys| keys }
    assert_equal({}, @guard.call(:read_multi_entries, returning: {}, keys: %w[b]) { flunk })
    assert_equal 1, @server.asked.count { |call,| call == :delete_frames }, "a pause between two attempts"
    @now += 1
    @server.refused = {}
    assert_equal "bytes", read("b")
  end

  def test_a_key_that_this_user_may_never_delete_does_not_stay
    outage { delete("a") }
    @server.refused = { "a" => Tiercel::Refused.new("no").tap { |error| error.forbidden = true } }
    assert_equal "bytes", read("a")
    refute @guard.undelivered.any?
  end

  def test_a_late_key_is_deleted_again_when_its_request_can_no_longer_arrive
    @guard.undelivered.note(["a"], late: true)
    assert_nil read("a")
    assert_equal "bytes", read("b")
    @now += Tiercel::Undelivered::LATE_SECONDS
    assert_equal "bytes", read("a")
    assert_equal [["a"], ["a"]], @server.asked.filter_map { |call, keys| keys if call == :delete_frames }
  end

  def test_a_key_that_another_thread_notes_during_the_trip_is_sent_again
    @guard.undelivered.note(%w[a b])
    @server.on_ask = ->(*) { @server.on_ask = @guard.undelivered.note(["a"]) }
    assert_equal "bytes", read("b")
    assert_equal [[:delete_frames, %w[a b]], [:delete_frames, ["a"]], [:get, "b"]], @server.asked
  end

  def test_the_list_is_bounded_and_says_what_it_loses
    most = Tiercel::Undelivered::MOST_KEYS
    reports = outage { @guard.undelivered.note(Array.new(most + 3) { |index| "k#{index}" }, late: true) }
    assert_equal most, @guard.undelivered.size
    assert_match(/3 deletes .* are lost \(the list holds at most/, reports.last.error.message)
    assert_empty @guard.undelivered.pending(%w[k0 k2])
    assert_equal ["k3"], @guard.undelivered.pending(["k3"])
  end

  def test_a_key_that_is_noted_again_is_lost_last
    outage do
      @guard.undelivered.note(Array.new(Tiercel::Undelivered::MOST_KEYS) { |index| "k#{index}" })
      %w[k0 new].each { |key| @guard.undelivered.note([key]) }
    end
    assert_equal %w[k0 new], @guard.undelivered.pending(%w[k0 k1 new])
  end

  def test_the_end_of_the_process_sends_the_list_or_reports_its_loss
    outage { delete("a", "b") }
    @server.refused = { "b" => Tiercel::Unavailable.new("node is down") }
    read("c") # begins a pause
    @server.refused = {}
    @guard.undelivered.finish
    assert_equal [:delete_frames, ["b"]], @server.asked.last
    reports = outage do
      delete("b")
      @guard.undelivered.finish
    end
    assert_match(/1 deletes .* are lost \(the process ends\)/, reports.last.error.message)
  end

  def test_a_child_does_not_send_its_parents_list
    outage { delete("a") }
    asked = fork_and_wait(2) do |index|
      @guard.undelivered.note(["b"]) if index.zero?
      read("c")
      @server.asked
    end
    assert_equal [[[:delete_frames, ["b"]], [:get, "c"]], [[:get, "c"]]], asked
    assert_equal 1, @guard.undelivered.size
  end

  def test_a_backend_of_this_machine_has_no_list
    assert_nil Tiercel::Guard.new(Tiercel::Backend.new).undelivered
  end
end
