# frozen_string_literal: true

require "fileutils"
require "tmpdir"
require_relative "../support/runner/command_line"

# Runs the runner like bin/test, on small repositories created here.
module SmallRepository
  GEMFILE = File.expand_path("../../gemfiles/kernel.gemfile", __dir__)
  PASSING = "class PassingTest < Minitest::Test\n  def test_it = assert(true)\nend\n"

  # The output and exit status of one run.
  Result = Struct.new(:output, :status) do
    def summary = output.lines.last.chomp
  end

  def setup
    @root = Dir.mktmpdir("tiercel-runner-")
    @declarations = +""
    write "test/suites.rb", ""
  end

  def teardown = FileUtils.rm_rf(@root)

  def write(path, content)
    full = File.join(@root, path)
    FileUtils.mkdir_p(File.dirname(full))
    File.write(full, content)
  end

  # Declares a suite with one test file.
  def suite(name, content, **options)
    write "test/#{name}/a_test.rb", content
    declare name, tests: ["test/#{name}/**/*_test.rb"], gemfile: GEMFILE, **options
  end

  def declare(name, **options)
    @declarations << "suite #{name.inspect}, **#{options.inspect}\n"
    write "test/suites.rb", @declarations
  end

  def run_tests(*arguments)
    reader, writer = IO.pipe
    pid = fork do
      reader.close
      $stdout.reopen(writer)
      $stderr.reopen(writer)
      exit!(TestRunner::CommandLine.new(arguments, root: File.realpath(@root), out: $stdout).run)
    end
    writer.close
    Result.new(reader.read, Process.wait2(pid).last.exitstatus)
  end
end
