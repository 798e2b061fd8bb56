# frozen_string_literal: true

require_relative "../support/lab_case"
require_relative "../support/canned"

# Properties of every command.
class EveryCommandTest < LabCase
  # An output that claims to be a terminal.
  class Terminal < StringIO
    def tty? = true
  end

  def each_command(&) = Lab::CLI.names.each(&)

  def test_help_has_every_command_in_one_group_and_an_example_of_each_group
    groups = Lab::CLI::Help::GROUPS.values
    assert_equal Lab::CLI.names - %w[choice], groups.flat_map(&:first).sort
    groups.each { |names, example| assert_includes names, example.split.first }
    _, out, = lab("--help")
    assert_equal groups.size, out.scan(/, such as: /).size
    assert_operator out.lines.map { |line| line.chomp.length }.max, :<=, 80
  end

  def test_help
    each_command do |name|
      code, out, err = lab(name, "--help")
      assert_equal [0, ""], [code, err], name
      assert_match(/^Usage: bin\/lab \[?#{name}\b/, out, name)
      assert_match(/^Examples:\n  bin\/lab/, out, name)
      assert_fits(out, name)
      next if %w[help init].include?(name)
      %w[--html --csv --markdown].each { |option| assert_includes out, option, name }
    end
    Lab::CLI::ExitCodes::MEANINGS.each { |code, words| assert_includes lab("help")[1], format("%3d  %s", code, words) }
  end

  def assert_fits(text, name)
    assert_empty text[/.*^Examples:/m].lines.select { |line| line.chomp.length > 80 }, name
    options = text.lines.grep(/\A {4}[ -].{3}-/)
    assert_empty options.grep_v(/\A {4}(-\w, |    )--[\w\[\]-]+( [\[A-Z][\w,=\]]*)?( {2,}\S|$)/), name
  end

  # No command has an option that it would ignore.
  def test_help_has_what_a_command_uses_and_nothing_else
    assert_includes lab("sizes", "--help")[1], "--processes"
    refute_includes lab("cold", "--help")[1], "--data"
    code, _out, err = lab("cold", "--data", ".")
    assert_equal 2, code
    assert_match(/: invalid option: --data$/, err)
  end

  def test_a_wrong_option_and_where_to_find_the_right_ones
    each_command do |name|
      code, out, err = lab(name, "--no-such-option")
      assert_equal [2, ""], [code, out], name
      assert_equal ["bin/lab: invalid option: --no-such-option", "Type bin/lab #{name} --help for its options."],
                   err.lines(chomp: true).values_at(0, -1)
    end
    assert_match(/Known: .*compressors.* more$/, lab("no-such-command")[2])
    assert_match(/Did you mean sizes\?/, lab("size")[2])
  end

  def test_a_plan_measures_nothing_and_has_no_colours
    (Lab::CLI.names - %w[report history init help]).each do |name|
      named = name == "http" ? %w[http://127.0.0.1/a http://127.0.0.1/b] : [] # which has no pages of its own
      code, out, err = lab(name, *named, "--quick", "--plan", "--results", dir)
      assert_equal [0, ""], [code, err], name
      refute_empty out.strip, name
      refute_includes out, "\e", name
    end
    assert_empty Dir.children(dir)
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
    text = File.read(File.expand_path("../../docs/lab.md", __dir__))
    Lab::CLI::ExitCodes::MEANINGS.each_key { |code| assert_match(/^\| #{code} \|/, text) }
  end

  def files
    cells = Canned.cells(compare("memory_store", "null_store"), "memory_store" => 2_000, "null_store" => 1_000)
    Dir.mktmpdir do |folder|
      path = File.join(folder, "kept.json")
      File.write(path, JSON.generate(Canned.results(command: "compare", cells:)))
      yield path
    end
  end
end
