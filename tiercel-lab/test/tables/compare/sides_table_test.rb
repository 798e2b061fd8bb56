# frozen_string_literal: true

require_relative "../../support/lab_case"
require_relative "../../support/canned"

class CompareSidesTest < LabCase
  def lab(*arguments)
    out, err = StringIO.new, StringIO.new
    [Lab::CLI.run(arguments, out:, err:, program: "bin/lab"), out.string, err.string]
  end

  def test_two_stores_interleaved_and_one_against_the_file
    Dir.mktmpdir do |folder|
      json, again = %w[run again].map { |name| File.join(folder, "#{name}.json") }
      common = ["--quick", "--budget", "1", "--require", PLANTED, "--op", "read", "--value", "string-100b", "--results",
                folder]
      code, out, err = lab("compare", "steps:100", "steps:30000", *common, "--json", json)
      assert_equal 0, code, err
      assert out.start_with?("steps:30000 against steps:100: slower in 1 of 1 cells; " \
                             "largest estimate: read string-100b takes"), out
      assert_empty SCHEMA.errors(Lab::Engine::Results.load(json))
      code, out, = lab("report", json)
      assert_equal 0, code
      assert_includes out, "bin/lab compare steps:100 steps:30000 --quick"
      code, out, = lab("compare", "steps:30000", *common, "--baseline", json, "--json", again)
      assert_equal 0, code
      assert_match(/Not interleaved: the baseline was measured at/, out)
      # Never "same", however close they are.
      assert_match(/(?:slower|faster|cannot tell) in 1 of 1 cells/, out)
      assert_match(/has no cells of memory_store; it has steps:100, steps:30000/,
                   lab("compare", "memory_store", "--baseline", json).last)
    end
  end

  def test_the_command_line_says_which_job_is_meant
    { %w[compare memory_store] => /expected two sides, or one and --baseline/,
      %w[compare memory_store memory_store] => /same store/,
      %w[compare dalli@1.0 tiercel] => /cannot be compared/, %w[compare a b c] => /expected two sides/,
      %w[compare HEAD HEAD --repository /nowhere] => %r{nor a revision in /nowhere} }.each do |arguments, words|
      code, _out, err = lab(*arguments)
      assert_equal 2, code
      assert_match words, err
    end
    assert_match(/--baseline FILE/, lab("compare", "a", "b", "--help")[1])
    assert_match(/--baseline STORE/, lab("compare", "--help")[1])
    assert_match(/\A\d+ cells in about/, lab("compare", "--plan", "--quick")[1])
    assert_match(/\A4 cells in about/, lab("compare", "memory_store", "null_store", "--plan", "--quick")[1])
  end

  def test_the_same_store_is_measured_against_itself
    Dir.mktmpdir do |folder|
      code, out, err = lab("compare", "memory_store", "memory_store", "--same", "--quick", "--budget", "1", "--op",
                           "read", "--value", "string-100b", "--results", folder)
      assert_equal 0, code, err
      assert_match(/\Amemory_store against memory_store: .* of 1 cells/, out)
      assert_match(/^read string-100b +\d/, out)
    end
  end

  def test_ones_own_files_are_values
    Dir.mktmpdir do |folder|
      File.write(File.join(folder, "a.html"), "<p>one</p>")
      code, out, err = lab("compare", "memory_store", "null_store", "--plan", "--quick", "--op", "read", "--data",
                           folder)
      assert_equal 0, code, err
      assert_match(/\A2 cells in about/, out)
    end
  end

  def test_a_side_that_cannot_be_built_leaves_nothing_to_compare
    Dir.mktmpdir do |repository|
      git = ["git", "-C", repository, "-c", "user.name=Somebody", "-c", "user.email=somebody@example.org", "-c",
             "commit.gpgsign=false"]
      extension = File.join(repository, "ext/tiercel/tiny")
      FileUtils.mkdir_p(extension)
      File.write(File.join(extension, "tiny.c"), "")
      File.write(File.join(extension, "extconf.rb"), "abort \"no compiler for you\"\n")
      [%w[init --quiet], %w[add .], %w[commit --quiet -m Broken]].each { |words| assert system(*git, *words) }
      before = ENV.fetch("XDG_CACHE_HOME", nil)
      ENV["XDG_CACHE_HOME"] = File.join(repository, "cache")
      code, _out, err = lab("compare", "HEAD", "HEAD", "--same", "--quick", "--repository", repository, "--results",
                            repository)
      assert_equal 3, code
      assert_match(/HEAD could not be compiled: .*no compiler for you/, err)
    ensure
      ENV["XDG_CACHE_HOME"] = before
    end
  end

  # A, B and the null arm; a second pass found B slower again, of the other operation it did not.
  def confirmed_results(second)
    passes = [["read", 1_500], ["write", 1_500], ["read", second]].flat_map do |operation, ns|
      Canned.cells(compare("memory_store", "null_store", operation:), { "memory_store" => 1_000, "null_store" => ns })
    end
    sides = %w[main .].map { |text| { text:, kind: "a revision", sha: "0123456789abcdef", title: "Do things" } }
    Canned.results(command: "compare", arguments: %w[main .], cells: passes,
                   tables: { "sides" => [sides, { baseline: nil }] })
  end

  def test_a_regression_counts_when_it_was_found_twice
    document = Lab::Tables::Compare::Table.report(confirmed_results(1_500), command: "bin/lab compare main .")
    sentence = document.verdicts.first.sentence
    assert_match(/\Athis checkout against main: slower in 2 of 2 cells; largest estimate: /, sentence)
    assert_match(/ A second pass found 1 of 1 slower again\.\z/, sentence)
    assert_equal :slower, document.verdicts.first.tone
    table = document.tables.first
    assert_equal ["A second, fresh pass found it slower again."], table.footnotes
    assert_equal ["read string-100b, null_store", "write string-100b, null_store"],
                 table.rows.map { |row| row.first.to_s }
    unconfirmed = Lab::Tables::Compare::SidesView.new(confirmed_results(1_000), command: "x")
    assert_empty unconfirmed.confirmed
    assert_match(/not confirmed/, unconfirmed.build.tables.first.footnotes.first)
  end
end
