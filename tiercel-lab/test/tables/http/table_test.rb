# frozen_string_literal: true

require_relative "../../support/lab_case"
require_relative "../../support/canned"

class HttpCommandTest < LabCase
  PAGE = File.expand_path("../../support/page.ru", __dir__)

  def lab(*arguments)
    out, err = StringIO.new, StringIO.new
    [Lab::CLI.run(arguments, out:, err:, program: "bin/lab"), out.string, err.string]
  end

  def rows(b_ns, **more)
    { "A" => 1_000_000, "B" => b_ns, "A again" => 1_010_000 }.map do |side, ns|
      blocks = [0, 1].product([0, 1, 2]).map do |process, block|
        [process, block, *Array.new(20) { |index| ns + (index * 1_000) + process }]
      end
      { side:, label: side == "B" ? "memory:" : "null_store", status: "measured", reason: nil, blocks:,
        first_ns: [5_000_000, 6_000_000], http_status: "200", bytes: 24_046 }.merge(side == "B" ? more : {})
    end
  end

  def document(rows)
    tables = { "requests" => [rows, { app: "app.ru", path: "/", requests: 10, any_body: false }] }
    Lab::Tables::Http::Table.report(Canned.results(command: "http", tables:), command: "bin/lab http --quick")
  end

  def test_quantiles_ratio_and_verdict
    report = document(rows(500_000))
    sentence = report.verdicts.first.sentence
    assert_match(/\AA request takes 0\.50\dx \[.*\] the time with B \(memory:\) that it takes with A/, sentence)
    assert_match(/ with A \(null_store\): faster\.\z/, sentence)
    assert_equal :faster, report.verdicts.first.tone
    compared, latency, = report.tables
    assert_equal "1.0 %", compared.rows[0].last.to_s
    assert_match(/\A1,010 us/, latency.rows[0][2].to_s)
    assert_equal "519 us", latency.rows[1][5].to_s
    assert_match(/\A0\.50/, compared.rows[0][1].to_s)
    assert_match(/<svg/, Lab::Report::Html.render(report))
  end

  def test_what_is_close_cannot_be_told
    assert_equal :cannot_tell, document(rows(950_000)).verdicts.first.tone
  end

  def test_a_side_that_failed_is_no_figure
    report = document(rows(1, status: "wrong values", reason: "its body is another"))
    assert_match(/B could not be measured: wrong values: its body is another/, report.verdicts.first.sentence)
    assert_match(%r{n/a: wrong values: its body is another}, Lab::Report::Markdown.render(report))
  end

  def test_the_command_line
    { %w[http] => /expected two URLs.*measured by app/m,
      %w[http http://127.0.0.1/] => /expected two URLs/, %w[http a.ru] => /no such file/,
      %w[http ftp://x http://y/] => /expected an http/,
      ["http", __FILE__, "--config", "a"] => /--config twice, got 1/,
      %w[http http://a/ http://b/ --config x] => /is a URL/,
      %w[http --requests 0] => /> 0/ }.each do |arguments, words|
      code, _out, err = lab(*arguments)
      assert_equal 2, code, arguments.inspect
      assert_match words, err
    end
    planned = lab("http", PAGE, "--config", "null_store", "--config", "memory:", "--plan", "--quick")[1]
    assert_match(/page\.ru with null_store and memory:.* 4 fresh processes/, planned)
  end

  def test_an_application_end_to_end
    Dir.mktmpdir do |folder|
      json = File.join(folder, "run.json")
      code, out, err = lab("http", PAGE, "--config", "null_store", "--config", "memory:",
                           "--quick", "--requests", "2", "--results", folder, "--json", json)
      assert_equal 0, code, err
      assert_match(/\AA request takes/, out)
      assert_empty SCHEMA.errors(Lab::Engine::Results.load(json))
      assert_equal 0, lab("report", json).first
    end
  end
end
