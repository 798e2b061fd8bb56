# frozen_string_literal: true

require_relative "../../support/lab_case"

class LatencyDesignTest < LabCase
  def design(quick: true, own: [], **given)
    contestants = %w[redis_cache_store memory_store].map { |text| Lab::Contestants.parse(text) }
    Lab::Tables::Latency::Design.of(quick:, contestants:, own:, **given)
  end

  def test_what_has_no_server_has_no_distance
    places = design.slots.group_by { |slot| slot.contestant.name }.transform_values { |slots| slots.map(&:place) }
    assert_equal ["in process"], places["memory_store"]
    assert_equal ["loopback", "+0 ms", "+1 ms, Compose", "+1.4 ms, MemCachier", "+1.9 ms, ElastiCache",
                  "+57 ms, a home in another city", "+0.5 ms, 10 Mbit/s"], places["redis_cache_store"]
  end

  def test_the_full_form_has_the_articles_distances
    assert_equal [0.0, 0.25, 0.5, 1.0, 1.4, 1.9, 5.0, 20.0, 57.0], design(quick: false).round_trips_ms
    assert_operator design(quick: false).expected_seconds, :>, design.expected_seconds
  end

  def test_what_the_user_said_comes_first
    given = design(round_trips_ms: [2.0], megabits: nil, iterations: 50)
    assert_equal [[2.0], [10.0], 50], [given.round_trips_ms, given.megabits, given.iterations]
  end

  def test_the_users_own_servers_are_asked_where_they_are
    own = Lab::Contestants.parse("production=redis://10.0.0.7:6379/0")
    slot = design(own: [own]).slots.last
    assert_equal %w[production yours], [slot.contestant.name, slot.place]
    refute slot.proxied?
    site = Lab::Load::Site.new([], pinning: Lab::Engine::Pinning.new(cpus: []))
    assert_equal({ host: "10.0.0.7", port: 6379, request: "PING\r\n" }, site.question(slot))
  end
end
