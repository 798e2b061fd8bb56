# frozen_string_literal: true

require "json"
require_relative "support"

# `bin/rails tiercel:...` in a real application.
class RailsAppCommandsTest < RailsAppTest
  def test_commands
    with_app do |app|
      mount(app)
      app.runner(%(Rails.cache.write("views/1", "<b>", expires_in: 60, tags: "product:1"); Rails.cache.write("a", 1)))
      an_entry(app)
      missing_arguments(app)
      deletes(app)
      the_doctor(app)
    end
  end

  # `bin/rails` is another process than the server, so it has another `memory:`.
  def test_a_command_says_that_memory_belongs_to_each_process
    with_app do |app|
      app.cache_store = %(:tiercel_store, "memory:")
      %w[stats top].each { |command| assert_separate(app.rails("tiercel:#{command}", "--json")) }
      assert_separate app.rails("tiercel:clear", "views/")
      app.cache_store = ":memory_store"
      assert_separate app.rails("tiercel:clear", "--yes")
    end
  end

  def test_a_delete_that_fails_is_a_failure
    with_app do |app|
      app.cache_store = %(:tiercel_store, "redis://127.0.0.1:1/0")
      [%w[delete a], %w[clear views/], %w[clear --yes], %w[invalidate a], %w[stats]].each do |name, *arguments|
        ran = app.rails("tiercel:#{name}", *arguments)
        assert_equal 2, ran.status.exitstatus, ran.to_s
        assert_match(/^tiercel: the backend (failed, so entries may remain: .*refused|did not answer)/, ran.err)
      end
    end
  end

  (RailsApp::LINES - ["8.1"]).each do |line|
    define_method(:"test_the_doctor_on_rails_#{line.tr(".", "_")}") do
      with_app(line) do |app|
        mount(app)
        the_doctor(app)
      end
    end
  end

  private

  def mount(app) = app.cache_store = %(:tiercel_store, "shared:", { size: "8MB" })

  def an_entry(app)
    found = JSON.parse(out(app.rails("tiercel:get", "views/1", "--json", "--value")))
    assert_equal ["views/1", "<b>".inspect], found.values_at("key", "value")
    assert found["tiers"].first["found"]
    assert_equal ["product:1"], found["tiers"].first["tags"]
    missing = app.rails("tiercel:get", "nothing")
    assert_equal 1, missing.status.exitstatus, missing.to_s
    assert_operator JSON.parse(out(app.rails("tiercel:stats", "--json")))["entries"], :>=, 2
    shown = app.rails("tiercel:stats")
    assert_match(/^entries: \d/, out(shown))
    assert_match(/\Aentries: \d+, [\d.]+ K?B of 8\.0 MB, \d+ hits, \d+ misses \([\d.]+ % hits\)\n\n/, shown.out)
    assert_empty shown.err
    top = JSON.parse(out(app.rails("tiercel:top", "--json")))
    assert_equal ["machine", true], [top["totals"]["scope"], top["totals"]["writes"] >= 2]
    assert_match(/Classes of keys by the cost of their misses in the last day/, out(app.rails("tiercel:top", "--day")))
  end

  def missing_arguments(app)
    [%w[get], %w[delete], %w[get a b]].each do |name, *arguments|
      ran = app.rails("tiercel:#{name}", *arguments)
      assert_equal 2, ran.status.exitstatus, ran.to_s
      assert_match(/\Atiercel: #{name} was called with (no argument|2 arguments)\./, ran.err)
      assert_includes ran.err, " Type: bin/rails tiercel:#{name} KEY\n"
    end
  end

  # @param ran [RailsApp::Ran]
  def assert_separate(ran)
    assert ran.ok?, ran.to_s
    assert_match(/\Atiercel: (memory:|\S+MemoryStore) is a separate cache in each process\./, ran.err)
    JSON.parse(ran.out) if ran.out.start_with?("{")
  end

  def deletes(app)
    out(app.rails("tiercel:invalidate", "product:1"))
    assert_equal "[nil, 1]\n", out(app.runner(%(p Rails.cache.read_multi("views/1", "a").values_at("views/1", "a"))))
    assert_match(/\ADeleted entries: 1$/, out(app.rails("tiercel:clear", "a")))
    refused = app.rails("tiercel:clear")
    assert_equal 2, refused.status.exitstatus, refused.to_s
    assert_match(/confirm with --yes/, refused.err)
    out(app.rails("tiercel:clear", "--yes"))
    assert_match(/does not exist/, out(app.rails("tiercel:delete", "a")))
  end

  def the_doctor(app)
    report = app.rails("tiercel:doctor")
    assert report.ok?, report.to_s
    assert_match(/Nothing found/, report.out)
    app.cache_store = ":memory_store"
    report = app.rails("tiercel:doctor", "--json")
    assert_equal 1, report.status.exitstatus, report.to_s
    assert_match(/each of the 2 Puma workers/, JSON.parse(report.out)["findings"].to_s)
  end
end
