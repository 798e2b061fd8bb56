# frozen_string_literal: true

require "optparse"
require_relative "bundle"
require_relative "commands_run"
require_relative "lanes"
require_relative "rails_checkout"
require_relative "ruby_run"
require_relative "suites"

module TestRunner
  # `bin/test`: selects suites and files, runs them, and prints a summary.
  class CommandLine
    ROOT = File.expand_path("../../..", __dir__)
    # Time limits of a suite in seconds: for the short and for the long tier.
    SHORT_SECONDS = 1_800
    LONG_SECONDS = 7_200

    # @param arguments [Array<String>] the command line
    # @param root [String] the repository
    # @param declarations [String] the file that declares the suites
    # @param out [IO]
    def initialize(arguments, root: ROOT, declarations: File.join(root, "test/suites.rb"), out: $stdout)
      @root = root
      @out = out
      @seed = []
      @words = parser.parse(arguments)
      @words += ["quick"] if @quick
      @declarations = declarations
    rescue OptionParser::ParseError => e
      @error = e.message
    end

    # @return [Integer] exit status: 0 for success, 1 for a failure, 2 for wrong arguments
    def run
      raise Error, @error if @error
      return @out.puts(parser) || 0 if @help
      suites = Suites.new(@declarations, root: @root)
      return list(suites) if @list
      files_by_suite = chosen(suites)
      outcomes = Lanes.new(@out) { |suite, files, out| run_suite(suite, files, out) }.run(files_by_suite)
      fail_the_empty(outcomes)
      summarize(outcomes)
    rescue Error => e
      warn "bin/test: #{e.message}"
      2
    end

    private

    def parser
      OptionParser.new("usage: bin/test [SUITE or PATH ...] [options]") do |options|
        options.on("--long", "also run the long tests (TIERCEL_LONG=1)") { @long = true }
        options.on("-n", "--name NAME", "run only tests with this name, or /REGEXP/") { |name| @name = name }
        options.on("--seed SEED", Integer, "order of the tests") { |seed| @seed = ["--seed", seed.to_s] }
        options.on("--quick", "only the suite `quick`: at most a minute, no server") { @quick = true }
        options.on("--slowest COUNT", Integer, "list the slowest tests of each suite") { |n| @slowest = n }
        options.on("--prices", "list the seconds of each test class") { @prices = true }
        options.on("--rails PATH", "Rails' repository, for rails_behaviours") { |path| @rails = path }
        options.on("--line LINE", "run rails_behaviours on one Rails version only: 8.1") { |line| @line = line }
        options.on("--list", "list the suites and their numbers of files") { @list = true }
        options.on("-h", "--help") { @help = true }
      end
    end

    # @return [Hash{Suite => Array<String>}] the files of each suite to run
    def chosen(suites)
      names, paths = @words.partition { |word| word.match?(/\A\w+\z/) && !File.file?(word) }
      paths = paths.map { |path| path_in_repository(path) }
      selected = suites.named(names).select { |suite| !@line || !suite.rails_line || suite.rails_line == @line }
      raise Error, "--line #{@line}: unknown Rails version" if selected.empty?
      return selected.to_h { |suite| [suite, suite.files] } if paths.empty?
      refuse_lost(paths, selected)
      names.empty? ? suites.for_paths(paths) : selected.to_h { |suite| [suite, suite.files_in(paths)] }
    end

    # Rejects a path without tests, which would otherwise go unnoticed among others.
    def refuse_lost(paths, suites)
      lost = paths.select { |path| suites.all? { |suite| suite.files_in([path]).empty? } }
      raise Error, "no suite has a test file in #{lost.join(", ")} (bin/test --list)" unless lost.empty?
    end

    def path_in_repository(path)
      absolute = File.realpath(path)
      return "." if absolute == @root
      raise Error, "#{path} is outside #{@root}" unless absolute.start_with?("#{@root}/")
      absolute.delete_prefix("#{@root}/")
    rescue Errno::ENOENT
      raise Error, "#{path} does not exist"
    end

    def run_suite(suite, files, out)
      out.puts "#{suite.name} ..."
      out.flush
      started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      outcome = suite.commands ? run_commands(suite, out) : run_files(suite, files, out)
      outcome.seconds = Process.clock_gettime(Process::CLOCK_MONOTONIC) - started
      lines = outcome.skip_lines + (@slowest ? outcome.slowest_lines(@slowest) : [])
      lines += outcome.price_lines if @prices
      lines.each { |line| out.puts "  #{line}" }
      out.puts "  #{outcome}"
      out.flush
      outcome
    end

    def run_commands(suite, out)
      CommandsRun.new(suite, root: @root, long: @long, name: @name, out: out, seconds: limit).run
    end

    # A suite whose gems cannot be installed is reported as skipped.
    def run_files(suite, files, out)
      return skipped(suite, suite.missing) if suite.missing
      problem = Bundle.new(File.expand_path(suite.gemfile, @root)).install(out)
      return skipped(suite, problem) if problem
      environment = { "TIERCEL_LONG" => @long ? "1" : nil }
      environment["RAILS_BEHAVIOURS"] = behaviours_of(suite) if suite.rails_line
      arguments = @seed + (@name ? ["--name", @name] : [])
      RubyRun.new(suite, files, root: @root, arguments: arguments, environment: environment, seconds: limit,
                                out: out).run
    end

    def skipped(suite, why) = Outcome.new(suite.name).tap { |outcome| outcome.skip("all of it", why) }

    def behaviours_of(suite)
      return rails_checkout.tests_of(suite.rails_line) unless suite.needs
      File.join(File.expand_path(ENV.fetch(suite.needs)), "activesupport/test")
    end

    def rails_checkout
      unless @rails
        raise Error, "rails_behaviours needs --rails PATH: a Rails repository (bare or not) with its tags"
      end
      @rails_checkout ||= RailsCheckout.new(@rails)
    end

    def limit = @long ? LONG_SECONDS : SHORT_SECONDS

    # With --name most suites have nothing to run, so only a run without any executed test fails.
    def fail_the_empty(outcomes)
      empty = outcomes.reject { |outcome| outcome.executed? || outcome.skips.any? { |test, _| test == "all of it" } }
      return if @name && empty.size < outcomes.size
      empty.each { |outcome| outcome.fail("#{outcome.suite} executed no test") }
    end

    def summarize(outcomes)
      failed = outcomes.flat_map { |outcome| outcome.failures.map { |failure| "#{outcome.suite}: #{failure}" } }
      @out.puts
      @out.puts "Failed:", failed.map { |failure| "  #{failure}" }, "" unless failed.empty?
      skipped = outcomes.sum { |outcome| outcome.skips.size }
      @out.puts "#{outcomes.sum(&:passed)} passed, #{failed.size} failed, #{skipped} skipped"
      failed.empty? ? 0 : 1
    end

    def list(suites)
      suites.each do |suite|
        content = suite.commands ? suite.commands : "#{suite.files.size} files, #{suite.gemfile}"
        @out.puts format("%-22s %s%s", suite.name, content, suite.on_demand ? " (only if named)" : "")
      end
      0
    end
  end
end
