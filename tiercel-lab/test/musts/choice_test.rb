# frozen_string_literal: true

require_relative "../support/lab_case"
require_relative "../support/canned"

class ChoiceTest < LabCase
  Choice = Lab::Tables::Choice

  # Answers with generated cells in place of measurements. In full runs `tiercel:sqlite:` costs less than in quick runs.
  class Canned < Choice::Table
    Lab = Tiercel::Lab
    called "choice", Choice::Table.summary
    takes :quick, :seed
    NS = { "memory_store" => 3_000, "tiercel:shared:" => 2_000, "tiercel:sqlite:" => 9_000,
           "redis_cache_store" => 90_000 }.freeze

    def answered(_seconds, what, *arguments)
      raise Lab::CannotRun, what if what == self.class.failing
      times = arguments.include?("--quick") ? NS : NS.merge("tiercel:sqlite:" => 500)
      stores = arguments.grep(/\A\w+=/)
      times = stores.to_h { |store| [store[/\A\w+/], 1_000] } if stores.any?
      cells = %w[read write].flat_map do |operation|
        contestants = (stores.any? ? stores : times.keys).map { |text| Lab::Contestants.parse(text) }
        comparison = Lab::Engine::Comparison.of(value: Lab::Values.fetch("json-10kb"), contestants:,
                                                operation: Lab::Operations.fetch(operation))
        ::Canned.cells(comparison, times)
      end
      ::Canned.results(command: "compare", cells:, constraints: constraints_of(arguments).record)
    end

    # The constraints of a command line, on a machine with two cores.
    def constraints_of(arguments)
      settings = Lab::CLI::Settings.new
      parser = settings.parser([:constraints], Lab::CLI::Parser.new)
      given = arguments.each_cons(2).select { |name, _| name.match?(/\A--(?:machines|workers|memory|survives)/) }
      parser.parse(given.flatten)
      settings.constraints
    end
  end

  Canned.singleton_class.attr_accessor :failing

  def view(rows)
    results = ::Canned.results(command: "choice", tables: { "choice" => [rows, { asked: rows.size }] })
    Choice::View.new(results, command: "bin/lab choice")
  end

  def row(times: 1.0, broken: [], **more) = { case: "a", first: "b", clear: true, best: "b", times:, broken:, **more }

  TWIN = { case: "b twice", twin: true, first: "one=b", clear: false }.freeze

  def test_eight_of_ten_are_enough_and_no_constraint_may_break
    good = [*[row] * 8, *[row(times: 1.3)] * 2, TWIN]
    assert_equal :holds, view(good).state
    assert_match(/in 8 of 10 cases and breaks a constraint in 0; equal stores were told apart in 0 of 1/,
                 view(good).sentence)
    assert_equal :fails, view([*good, row(times: 1.3)]).state
    assert_equal :undecided, view([*good, TWIN.merge(first: nil)]).state
    assert_equal :undecided, view([row, row(times: 1.3)]).state
    assert_equal :fails, view([*good, row(broken: ["b: --machines"])]).state
    assert_equal :fails, view([*good, TWIN.merge(clear: true)]).state
    assert_equal :undecided, view(good.first(8)).state
  end

  def test_each_application_is_judged_by_the_full_run
    Dir.mktmpdir do |folder|
      command = Lab::CLI::TableCommand.new(Canned, out: StringIO.new, err: StringIO.new, program: "bin/lab")
      Canned.define_singleton_method(:variants) { [self] }
      assert_equal 3, command.call(["--quick", "--results", folder]), command.err.string
      rows = command.results["tables"].first["rows"]
      assert_equal ["tiercel:shared:", "tiercel:sqlite:"], rows.first.values_at("first", "best")
      assert_operator rows.first["times"], :>, 2
      assert_equal [false, true], rows.last.values_at("clear", "twin")
      check_results(command)
    end
  end

  def test_a_case_that_fails_does_not_affect_the_others
    Dir.mktmpdir do |folder|
      Canned.failing = Choice::Case::ALL.first.words
      command = Lab::CLI::TableCommand.new(Canned, out: StringIO.new, err: StringIO.new, program: "bin/lab")
      assert_equal 3, command.call(["--quick", "--results", folder])
      assert_equal [Canned.failing], command.results["warnings"]
      assert_equal 2, command.results["tables"].first["rows"].size
    end
  ensure
    Canned.failing = nil
  end

  # The only case with real processes.
  def test_the_results_come_from_a_process_of_their_own
    table = Choice::Table.new(Lab::CLI::Settings.new)
    progress = []
    progress.define_singleton_method(:advance) { |*step| push(step) }
    table.instance_variable_set(:@progress, progress)
    asked = %w[--quick --store memory_store --op read --value string-100b --budget 0.1]
    assert_equal "compare", table.send(:answered, 1, "one", *asked)["run"]["command"]
    assert_equal [1, "one"], progress.last
    assert_match(/\Atwo: .*no-such-value/m,
                 assert_raises(Lab::CannotRun) { table.send(:answered, 1, "two", "--value", "no-such-value") }.message)
  end

  def test_stores_that_break_a_constraint
    broken = ->(options, store, line = nil) { Choice::Case.new("mixed", options.split).broken_by(store, line) }
    assert_equal "--workers", broken.call("--workers 2", "memory_store")
    assert_nil broken.call("--workers 1", "memory_store")
    assert_equal "--machines", broken.call("--machines 2", "tiercel:sqlite:")
    assert_equal "--survives", broken.call("--survives reboot", "redis_cache_store")
    assert_nil broken.call("--survives reboot --machines 2", "redis_cache_store")
    line = ->(size) { %(config.cache_store = :tiercel_store, "shared:"#{size}) }
    assert_equal "--memory", broken.call("--memory 64MB", "tiercel:shared:", line.call(""))
    assert_equal "--memory", broken.call("--memory 64MB", "tiercel:shared:", line.call(', size: "65MB"'))
    assert_nil broken.call("--memory 64MB", "tiercel:shared:", line.call(', size: "56MB"'))
  end

  # The same seed writes the same files.
  def test_values_are_files
    Choice::Files::COUNTS.each do |kind, count|
      first, again = Array.new(2) do
        Dir.mktmpdir do |folder|
          Choice::Files.write(kind, folder, seed: 1)
          Lab::Values::Files.new(directory: folder).generate(1)
        end
      end
      assert_equal [count, first], [first.size, again], kind
      refute Lab::Values.known?(kind), kind
    end
    assert_equal 10, Choice::Case::ALL.size
  end
end
