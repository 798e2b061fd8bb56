# frozen_string_literal: true

# suites: insight

require "json"
require_relative "insight_app"

# `bin/rails cache:...` in a real application.
class CommandsTest < InsightAppTest
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
      assert_separate(app.rails("cache:get", "a", "--json"), missing: true)
      assert_separate app.rails("cache:clear", "views/")
      app.cache_store = ":memory_store"
      assert_separate app.rails("cache:clear", "--yes")
    end
  end

  def test_a_delete_that_fails_is_a_failure
    with_app do |app|
      app.cache_store = %(:tiercel_store, "redis://127.0.0.1:1/0")
      [%w[delete a], %w[clear views/], %w[clear --yes], %w[invalidate a], %w[stats]].each do |name, *arguments|
        ran = app.rails("cache:#{name}", *arguments)
        assert_equal 2, ran.status.exitstatus, ran.to_s
        assert_match(/^cache: the backend (failed, so entries may remain: .*refused|did not answer)/, ran.err)
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
    found = JSON.parse(out(app.rails("cache:get", "views/1", "--json", "--value")))
    assert_equal ["views/1", "<b>".inspect], found.values_at("key", "value")
    assert found["tiers"].first["found"]
    assert_equal ["product:1"], found["tiers"].first["tags"]
    missing = app.rails("cache:get", "nothing")
    assert_equal 1, missing.status.exitstatus, missing.to_s
    assert_operator JSON.parse(out(app.rails("cache:stats", "--json")))["backend"]["entries"], :>=, 2
    shown = app.rails("cache:stats")
    assert_match(/^  entries: \d+  \(entries, with those of tags/, out(shown))
    assert_match(/^\d+ hits, \d+ misses.* in all processes of this machine\./, shown.out)
    assert_empty shown.err
    assert_match(/Examines the application/, out(app.rails("cache:doctor", "--help")))
    help = out(app.rails("cache", "--help"))
    assert_match(/cache:doctor .*cache:top/m, help)
    refute_match(/\.\.\.$/, help)
    assert_match(/cache:doctor .*cache:stats /m, out(app.rails("-T", "cache")))
    profile = app.path("tmp/profile.json")
    out(app.rails("cache:profile", profile))
    assert_equal 1, JSON.parse(File.read(profile))["version"]
  end

  def missing_arguments(app)
    [%w[get], %w[delete], %w[get a b]].each do |name, *arguments|
      ran = app.rails("cache:#{name}", *arguments)
      assert_equal 2, ran.status.exitstatus, ran.to_s
      assert_match(/\Acache: #{name} was called with (no argument|2 arguments)\./, ran.err)
      assert_includes ran.err, " Type: bin/rails cache:#{name} KEY\n"
    end
  end

  # @param ran [RailsApp::Ran]
  def assert_separate(ran, missing: false)
    assert_equal missing ? 1 : 0, ran.status.exitstatus, ran.to_s
    assert_match(/\Acache: (memory:|\S+MemoryStore) is a separate cache in each process\./, ran.err)
    JSON.parse(ran.out) if ran.out.start_with?("{")
  end

  def deletes(app)
    out(app.rails("cache:invalidate", "product:1"))
    assert_equal "[nil, 1]\n", out(app.runner(%(p Rails.cache.read_multi("views/1", "a").values_at("views/1", "a"))))
    assert_match(/\ADeleted entries: 1$/, out(app.rails("cache:clear", "a")))
    refused = app.rails("cache:clear")
    assert_equal 2, refused.status.exitstatus, refused.to_s
    assert_match(/confirm with --yes/, refused.err)
    out(app.rails("cache:clear", "--yes"))
    assert_match(/does not exist/, out(app.rails("cache:delete", "a")))
  end

  def the_doctor(app)
    report = app.rails("cache:doctor")
    assert report.ok?, report.to_s
    assert_match(/Nothing found/, report.out)
    app.cache_store = ":memory_store"
    report = app.rails("cache:doctor", "--json")
    assert_equal 1, report.status.exitstatus, report.to_s
    assert_match(/each of the 2 Puma workers/, JSON.parse(report.out)["findings"].to_s)
  end
end
