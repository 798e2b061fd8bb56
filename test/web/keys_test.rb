# frozen_string_literal: true
# suites: store

require_relative "web_case"
require "support/locked_shard"

# Lists of keys during writes: neither waits for the other.
class WebKeysTest < WebCase
  PATHS = %w[/keys?prefix_key=views /keys?prefix_key=nothing /tags?prefix_key=p /tiers /servers].freeze

  def test_lists_need_no_lock
    with_segment do |store, path|
      store.write("views/1", "x")
      app = Tiercel::Web.new(store:, protected_by: :routes)
      app.examination.report(app.given_stores, wait_seconds: 30)
      LockedShard.while(path, -> { Tiercel::Segment.open_existing(path) }) do
        assert get(app, "/keys?prefix_key=views").body.include?("views/1")
        (PATHS + ["/key?name_key=views/1"]).each { |address| assert_equal 200, get(app, address).status }
        assert_equal 0, store.backend.stats[:lock_waits]
      end
    end
  end

  def test_a_writer_waits_for_no_list
    with_segment do |store, path|
      5_000.times { |index| store.write("views/#{index}", "x") }
      app = Tiercel::Web.new(store:, protected_by: :routes)
      app.examination.report(app.given_stores, wait_seconds: 30)
      ended = IO.pipe
      writer = fork do
        other = Tiercel.new("shared:#{path}")
        20_000.times { |index| other.write("views/#{index % 5_000}", "y" * (index % 100)) }
        ended.last.write("x")
        exit!(true)
      end
      begin
        PATHS.each { |address| assert_equal 200, get(app, address).status }
      end until ended.first.wait_readable(0)
      Process.wait(writer)
      assert_equal [0, 0], store.backend.stats.values_at(:lock_waits, :lock_timeouts)
    end
  end

  private

  def with_segment
    with_tmpdir do |dir|
      path = "#{dir}/segment"
      store = Tiercel.new("shared:#{path}", size: "8MB", shards: 1)
      yield store, path
    ensure
      store&.close
    end
  end
end
