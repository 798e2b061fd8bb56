# frozen_string_literal: true

require_relative "../support/lab_case"
require_relative "../support/canned"
require "tiercel/lab/cli"

# What all commands have in common.
class EveryCommandTest < LabCase
  # What a command needs to be named.
  NEEDS = { "report" => ["kept.json"] }.freeze
  # A terminal, as far as output can tell.
  class Terminal < StringIO
    def tty? = true
  end

  def lab(*arguments, out: StringIO.new)
    err = StringIO.new
    [Lab::CLI.run(arguments, out:, err:, program: "bin/lab"), out.string, err.string]
  end

  def each_command(&) = Lab::Commands.names.each(&)

  def test_help
    each_command do |name|
      code, out, err = lab(name, "--help")
      assert_equal [0, ""], [code, err], name
      assert_match(/^Examples:\n  bin\/lab/, out, name)
      Lab::ExitCodes::MEANINGS.each { |number, words| assert_includes out, format("%3d  %s", number, words), name }
      %w[--quick --json --html --csv --markdown --seed --plan].each { |option| assert_includes out, option, name }
    end
  end

  def test_a_wrong_option_and_where_to_find_the_right_ones
    each_command do |name|
      code, out, err = lab(name, "--no-such-option")
      assert_equal [2, ""], [code, out], name
      assert_match(/invalid option: --no-such-option\n.*--help/, err, name)
    end
    assert_match(/Known: .*compressors.*sqlite/, lab("no-such-command")[2])
  end

  def test_a_plan_measures_nothing_and_has_no_colours
    Dir.mktmpdir do |results|
      each_command do |name|
        code, out, err = lab(name, *NEEDS[name], "--quick", "--plan", "--results", results)
        assert_equal [0, ""], [code, err], name
        refute_empty out.strip, name
        refute_includes out, "\e", name
      end
      assert_empty Dir.children(results)
    end
  end

  def test_colours_at_a_terminal_unless_the_user_wants_none
    files do |path|
      assert_includes lab("report", path, out: Terminal.new)[1], "\e["
      with_env("NO_COLOR" => "1") { refute_includes lab("report", path, out: Terminal.new)[1], "\e[" }
      refute_includes lab("report", path)[1], "\e["
    end
  end

  def test_a_reader_that_has_seen_enough
    files do |path|
      reader, writer = IO.pipe
      reader.close
      writer.sync = true
      assert_equal 0, Lab::CLI.run(["report", path], out: writer, err: StringIO.new, program: "bin/lab")
      writer.close
    end
  end

  def test_the_documents_have_every_exit_code
    text = File.read(File.expand_path("../../../docs/lab.md", __dir__))
    Lab::ExitCodes::MEANINGS.each_key { |code| assert_match(/^\| #{code} \|/, text) }
  end

  def files
    cells = Canned.cells(compare("memory_store", "null_store"), "memory_store" => 2_000, "null_store" => 1_000)
    Dir.mktmpdir do |folder|
      path = File.join(folder, "kept.json")
      File.write(path, JSON.generate(Canned.results(command: "compare", cells:)))
      yield path
    end
  end

  def with_env(variables)
    before = ENV.to_h.slice(*variables.keys)
    variables.each { |name, value| ENV[name] = value }
    yield
  ensure
    variables.each_key { |name| ENV[name] = before[name] }
  end
end
