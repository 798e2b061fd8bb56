# frozen_string_literal: true

require_relative "../support/lab_case"
require "tiercel/lab/network"
require "tiercel/lab/servers"
require "tiercel/lab"

class GateCounterTest < LabCase
  PASSES = 3

  # @return [Array(Float, Float)] objects and round trips of one call
  def count(operation, relay, folder)
    counter = Lab::Sides::Counter.new
    spec = JSON.parse(JSON.generate(Lab::Values.fetch("string-100b").to_spec), symbolize_names: true)
    context = { servers: { redis: { "url" => relay.url } }, folders: { tmpfs: folder, disk: folder }, label: "gate" }
    opened = counter.open(text: "tiercel:shared: redis:", operation:, value: spec, seed: 1, context:)
    assert_equal "measured", opened["status"], opened["reason"]
    trips = Array.new(PASSES) do
      counter.ready
      before = relay.traffic.first
      counter.run
      relay.traffic.first - before
    end
    [counter.count["objects"], trips.min.fdiv(opened["calls"])]
  ensure
    counter&.close
  end

  # Beside a busy machine a listener is late, near copies lapse, and every pass counted 11 objects and a trip.
  def test_every_pass_waits_for_near_copies
    counter = Lab::Sides::Counter.new
    spec = JSON.parse(JSON.generate(Lab::Values.fetch("string-100b").to_spec), symbolize_names: true)
    objects = %w[memory_store planted_lapsing].map do |text|
      opened = counter.open(text:, operation: "read", value: spec, seed: 1,
                            context: { servers: {}, folders: { disk: dir }, label: "gate" })
      assert_equal "measured", opened["status"], opened["reason"]
      counter.count["objects"].tap { counter.close }
    end
    assert_in_delta objects.first, objects.last, 3
  end

  # The listener thread allocates objects and receives messages in some passes, not in all.
  def test_exact_figures_of_tiers
    skip "Redis is not installed" unless Lab::Servers::Redis.installed?
    server = Lab::Servers::Redis.new.start
    with_tmpdir do |folder|
      Lab::Network::Proxy.run(server) do |relay|
        # The value, and where a test may move the clock, a Time.
        assert_includes [[1.0, 0.0], [2.0, 0.0]], count("read", relay, folder), "all hits are near"
        assert_in_delta 1.0, count("write", relay, folder).last, 0.05
      end
    end
  ensure
    server&.stop
  end
end
