# frozen_string_literal: true

require_relative "../../support/lab_case"

class AllCommandTest < LabCase
  SHORT = %w[--quick --store null_store].freeze

  # The command `all` with tables that take no time; the child processes are real.
  def all_of(*entries)
    Class.new(Lab::CLI::All::Command) { define_method(:entries) { entries } }
  end

  def entry(name, *arguments) = Lab::CLI::All::Entry.new(name:, arguments:)

  def short_ones = [entry("capabilities", *SHORT), entry("serializers", "--value", "no-such-value")]

  def run_all(klass, *arguments)
    Dir.mktmpdir do |folder|
      out, err = StringIO.new, StringIO.new
      code = klass.new(out:, err:, program: "bin/lab").call([*arguments, "--results", folder])
      kept = Dir[File.join(folder, "*-all-*.jsonl")].first
      yield code, out.string, err.string, kept
    end
  end

  def test_a_table_that_fails_does_not_end_the_run_and_says_why
    run_all(all_of(*short_ones, entry("client", "--bogus")), "--html",
            html = File.join(Dir.tmpdir, "all-#{Process.pid}.html")) do |code, out, err, kept|
      assert_equal 3, code, err
      results = Lab::Engine::Results.load(kept)
      assert_equal %w[complete failed failed], results["parts"].map { |part| part["state"] }
      assert_match(/exit code 2; .*no-such-value.*html-2kb/, results["parts"][1]["note"])
      assert_match(/^1 of 3 tables are complete/, out)
      assert_match(/^How long it took$/, out)
      page = File.read(html)
      assert_includes page, 'id="capabilities"'
      assert_includes page, "There is no table: exit code 2"
      assert_empty SCHEMA.errors(results)
      assert_empty SCHEMA.errors(results["parts"].first["results"])
    end
  ensure
    FileUtils.rm_f(html)
  end

  def test_without_time_no_table_begins_and_the_report_names_the_tables
    run_all(all_of(*short_ones), "--within", "0.1") do |code, out, err, kept|
      assert_equal 3, code, err
      assert_match(/^Out of time: capabilities, serializers; --only measures them\.$/, out)
      parts = Lab::Engine::Results.load(kept)["parts"]
      assert_equal [["out of time", "no time was left: no table begins after 0.1 minutes"]] * 2,
                   parts.map { |part| part.values_at("state", "note") }
    end
  end

  def test_a_table_that_takes_too_long_is_ended
    child = Lab::CLI::All::Child.new(entry("serializers"), more: ["--quick"], folder: dir, limit: 0.5)
    part = child.run
    assert_equal ["out of time", "stopped after 1 s"], [part.state, part.note]
  end

  def test_what_cannot_be_followed
    { %w[--only nothing] => /"nothing" is not known\. Known: capabilities, serializers/,
      %w[--within 0] => /expected more than 0/ }.each do |arguments, words|
      run_all(all_of(*short_ones), *arguments) do |code, out, err, kept|
        assert_equal [2, "", nil], [code, out, kept]
        assert_match words, err
      end
    end
  end

  def test_every_table_that_takes_a_url_gets_it_as_it_was_given
    out = lab(*%w[all --plan --only compare,sizes --url production=redis://127.0.0.1:1/0])[1]
    assert_equal 2, out.scan(%r{ --url production=redis://127\.0\.0\.1:1/0$}).size, out
  end
end
