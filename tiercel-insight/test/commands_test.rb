# frozen_string_literal: true

# suites: insight

require "json"
require_relative "insight_app"

# `bin/rails cache:...` in a real application.
class CommandsTest < InsightAppTest
  def test_commands
    with_app do |app|
      app.cache_store = %(:tiercel_store, "shared:", { size: "8MB" })
      app.runner(%(Rails.cache.write("views/1", "<b>", expires_in: 60, tags: "product:1")
                    Rails.cache.write("a", 1); Rails.cache.read("a")
                    Tiercel::Insight.audit(1.0); [1, 2].each { |value| Rails.cache.fetch("stale/1") { value } }))
      # In the order of their effects.
      parts = [of_entries(profile = app.path("tmp/profile.json")), AUDITS, DELETES, [%w[-T cache], %w[cache:doctor]]]
      ran = commands(app, *parts.flatten(1))
      entries, audits, deletes, (tasks, doctor) = parts.map { |part| ran.shift(part.size) }
      check_entries(*entries)
      out(entries.last)
      assert_equal 1, JSON.parse(File.read(profile))["version"]
      check_audits(*audits)
      check_deletes(*deletes)
      assert_match(/cache:doctor .*cache:stats /m, out(tasks))
      documented(out(doctor), "cache:doctor")
      assert_match(/Nothing found/, doctor.out)
    end
  end

  # `bin/rails` is another process than the server, so it has another `memory:`.
  def test_a_command_says_that_memory_belongs_to_each_process
    with_app do |app|
      app.cache_store = %(:tiercel_store, "memory:")
      found, cleared = commands(app, %w[cache:get a --json], %w[cache:clear views/])
      assert_separate(found, missing: true)
      assert_separate cleared
      app.cache_store = ":memory_store"
      cleared, by_prefix, stats, doctor =
        commands(app, %w[cache:clear --yes], %w[cache:clear views/], %w[cache:stats], %w[cache:doctor --json])
      assert_match(%r{^No process has counted anything yet in .*tmp/insight/memory_store\.}, stats.out)
      check_findings(doctor)
      assert_separate cleared
      assert_equal "Deleted every entry that begins with views/\n", out(by_prefix)
    end
  end

  def test_a_delete_that_fails_is_a_failure
    with_app do |app|
      app.cache_store = %(:tiercel_store, "redis://127.0.0.1:1/0")
      commands(app, %w[cache:delete a], %w[cache:clear views/], %w[cache:clear --yes], %w[cache:invalidate a],
               %w[cache:stats]).each do |ran|
        assert_equal 2, ran.status.exitstatus, ran.to_s
        assert_match(/^cache: the backend (failed, so entries may remain: .*refused|did not answer)/, ran.err)
      end
    end
  end

  def test_the_doctor_on_the_oldest_rails
    with_app(RailsApp::LINES.last) do |app|
      app.cache_store = 'ActiveSupport::Cache::MemoryStore.new.tap { |store| store.write("\xFF", 1) }'
      assert_match(/entries may remain, because/, commands(app, %w[cache:clear views/]).first.err)
      app.write("config/initializers/log.rb", "puts 1; Rails.logger = Logger.new(STDOUT); Rails.logger.warn(1)")
      check_findings(app.rails("cache:doctor", "--json"))
    end
  end

  private

  MISTAKEN = [%w[cache:get], %w[cache:delete], %w[cache:get a b]].freeze
  AUDITS = [%w[cache:audit], %w[cache:audit --json]].freeze
  DELETES = [%w[cache:invalidate product:1], %w[cache:get views/1 --value], %w[cache:get a --value],
             %w[cache:clear a], %w[cache:clear], ["cache:clear", ""], ["cache:delete", ""], ["cache:invalidate", ""],
             %w[cache:clear --yes], %w[cache:delete a]].freeze

  def of_entries(profile)
    [%w[cache:get views/1 --json --value], ["cache:get", "\xFF"], %w[cache:stats --json], %w[cache:stats],
     %w[cache:doctor --help], %w[cache --help], *MISTAKEN, ["cache:profile", profile]]
  end

  def check_entries(get, missing, stats, shown, doctor, help, *refused, _profiled)
    found = JSON.parse(out(get))
    assert_equal ["views/1", "<b>".inspect], found.values_at("key", "value")
    assert found["tiers"].first["found"]
    assert_equal ["product:1"], found["tiers"].first["tags"]
    assert_equal 1, missing.status.exitstatus, missing.to_s
    assert_operator JSON.parse(out(stats))["backend"]["entries"], :>=, 2
    assert_match(/^  entries: \d+  \(entries, with those of tags/, out(shown))
    assert_match(/^\d+ hits, \d+ misses.* in all processes of this machine\..*^- stale, 1 times: \S+ /m, shown.out)
    assert_empty shown.err
    documented(shown.out, "cache:stats", /.*this machine\./)
    assert_match(/Examines the application/, out(doctor))
    assert_match(/cache:doctor .*cache:top/m, out(help))
    refute_match(/\.\.\.$/, help.out)
    MISTAKEN.zip(refused) { |(name), ran| assert_argument_wanted(name, ran) }
  end

  # README and getting-started.md show a part of a command's real output, apart from paths and numbers.
  #
  # @param part [Regexp] the lines, or the parts of lines, to compare
  def documented(real, command, part = /.+/)
    shape = ->(words) { words.gsub(%r{\S*/\S+}, "PATH").gsub(/\d[\d.,:-]*/, "N").split.join(" ") }
    pages = %w[README.md docs/getting-started.md].map { |page| File.read(File.expand_path("../../#{page}", __dir__)) }
    shown = pages.join.scan(%r{^(?:\$ bin/| *)rails +#{command}[^\n]*\n(.*?)^(?:\$ |```)}m).join
                 .gsub("[...]", "").scan(part)
    refute_empty shown, command
    shown.each { |line| assert_includes shape[real], shape[line] }
  end

  def assert_argument_wanted(name, ran)
    assert_equal 2, ran.status.exitstatus, ran.to_s
    assert_match(/\Acache: #{name.delete_prefix("cache:")} was called with (no argument|2 arguments)\./, ran.err)
    assert_includes ran.err, " Type: bin/rails #{name} KEY\n"
  end

  # @param ran [RailsApp::Ran]
  def assert_separate(ran, missing: false)
    assert_equal missing ? 1 : 0, ran.status.exitstatus, ran.to_s
    assert_match(/\Acache: (memory:|\S+MemoryStore) is a separate cache in each process\./, ran.err)
    JSON.parse(ran.out) if ran.out.start_with?("{")
  end

  def check_deletes(invalidated, invalid, kept, cleared, refused, unset, blank, tag, confirmed, absent)
    documented(out(invalidated), "cache:invalidate")
    assert_match(/^value: nil$/, invalid.out)
    assert_match(/^value: 1$/, out(kept))
    assert_match(/\ADeleted entries: 1$/, out(cleared))
    { refused => /confirm with --yes/, unset => /confirm with --yes/, blank => /\Acache: key /,
      tag => /\Acache: tags: / }.each do |ran, text|
      assert_equal 2, ran.status.exitstatus, ran.to_s
      assert_match(text, ran.err)
    end
    out(confirmed)
    assert_match(/does not exist/, out(absent))
  end

  def check_audits(text, data)
    assert_equal [1, 1], [text, data].map { |ran| ran.status.exitstatus }, text.to_s
    assert_match(/status: stale.*first: \d{4}-\d\d-\d\d \d\d:/m, text.out)
    assert_equal ["stale"], JSON.parse(data.out).map { |one| one["status"] }
  end

  # @param report [RailsApp::Ran]
  def check_findings(report)
    assert_equal 1, report.status.exitstatus, report.to_s
    assert_match(/each of the 2 Puma workers/, JSON.parse(report.out)["findings"].to_s)
  end
end
