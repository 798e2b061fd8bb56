# frozen_string_literal: true

require_relative "../../support/lab_case"
require_relative "../../support/small_gem"

# Exact figures decide, whatever other programs run.
class GateTableTest < LabCase
  # A benchmark that allocates, calls a server, and queries a database.
  LIBRARY = <<~RUBY
    require "socket"
    require "active_record"
    module SmallGem
      def self.parse(text) = text.split(",")
      def self.same(text) = text.size
      def self.connect = TCPSocket.new(*ENV.fetch("REDIS_URL")[%r{//([^/]+)}, 1].split(":"))
      def self.ask(socket, times = 1)
        times.times { socket.write("PING\\r\\n") && socket.gets }
        times
      end
      def self.database
        ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: ":memory:")
        ActiveRecord::Base.lease_connection
      end
      def self.query(connection, times = 1) = times.times { connection.select_value("SELECT 1") }
    end
  RUBY
  BENCHMARKS = <<~RUBY
    require "small_gem"
    Tiercel::Lab.benchmark("parse", expect: %w[a b c]) { SmallGem.parse("a,b,c") }
    Tiercel::Lab.benchmark("same") { SmallGem.same("a,b,c") }
    Tiercel::Lab.benchmark("ask", setup: -> { SmallGem.connect }, clock: :wall) { |socket| SmallGem.ask(socket) }
    Tiercel::Lab.benchmark("query", setup: -> { SmallGem.database }) { |connection| SmallGem.query(connection) }
  RUBY

  def gate(gem, *arguments)
    run_command(Lab::Tables::Gate::Table, "--repository", gem.folder, *arguments) do |code, command|
      assert_empty SCHEMA.errors(command.results) if command.results
      yield code, command.results ? command.results["tables"].find { |one| one["name"] == "gate" }["rows"] : [], command
    end
  end

  def verdicts(rows, verdict = "regressed") = rows.filter_map { |row| row["cell"] if row["verdict"] == verdict }

  def row(rows, cell, metric) = rows.find { |one| one.values_at("cell", "metric") == [cell, metric] }

  # A commit may accept one of them. A workflow shows the outcome as a comment, and in its summary.
  def test_one_object_one_round_trip_and_one_query_more_fail_unless_accepted
    SmallGem.make(library: LIBRARY, benchmarks: BENCHMARKS, gate: "gate: { servers: [redis] }\n") do |gem|
      gem.change("lib/small_gem.rb", "text.split(\",\")", "text.dup.split(\",\")")
      gem.change("lib/small_gem.rb", "def self.ask(socket, times = 1)", "def self.ask(socket, times = 2)")
      gem.change("lib/small_gem.rb", "def self.query(connection, times = 1)", "def self.query(connection, times = 2)")
      gem.commit("More of everything")
      gem.write("README.md", "Asks").commit("Say why\n\nAccept-Regression: query - the caller's wish")
      comment, summary = %w[comment.md summary.md].map { |name| File.join(gem.folder, "..", name) }
      ENV["GITHUB_STEP_SUMMARY"] = summary
      File.write(summary, "before\n")
      gate(gem, "--exact", "--base", "HEAD~2", "--comment", comment) do |code, rows, command|
        assert_equal 1, code, command.err.string
        assert_equal [%w[ask parse], %w[query]], [verdicts(rows).uniq.sort, verdicts(rows, "accepted").uniq]
        assert_includes command.out.string, "the caller's wish"
        { "parse" => "objects", "ask" => "round_trips", "query" => "queries" }.each do |cell, metric|
          base, head = row(rows, cell, metric).values_at("base", "head")
          assert_equal [1.0], base.product(head).map { |before, after| after - before }.uniq, metric
        end
        assert_equal "same", row(rows, "same", "objects")["verdict"]
        assert_match(/\AFailed: parse: objects allocated by one call: \d+ \u2192 \d+; \d+ more\.$/, command.out.string)
      end
      assert File.read(comment).start_with?("<!-- tiercel-lab gate -->\n# Gate: this checkout against HEAD~2\n")
      assert_includes File.read(comment), "bundle exec tiercel-lab gate --base 'HEAD~2'"
      assert_match(/\Abefore\n# Gate/, File.read(summary))
      assert_includes File.read(summary), "Accept-Regression: CELL"
    end
  end

  # Three times the work without an additional object.
  def test_more_time_alone_fails_twice_measured
    skip "long tier" unless long?
    work = "def self.work(left = 20_000)\n    left -= 1 while left > 0\n    left\n  end"
    benchmark = "require \"small_gem\"\nTiercel::Lab.benchmark(\"work\", expect: 0) { SmallGem.work }\n"
    SmallGem.make(library: "module SmallGem\n  #{work}\nend\n", benchmarks: benchmark) do |gem|
      gem.change("lib/small_gem.rb", "20_000", "60_000").commit("Work")
      gate(gem, "--processes", "2") do |code, rows, command|
        assert_equal [1, %w[work]], [code, verdicts(rows)], command.out.string
        assert_equal 2, row(rows, "work", "time").values_at("ratio", "again").count { |ratio| ratio["low"] > 1.5 }
        assert_match(/\AFailed: work: time: [23]\S+x \[.*\] the base's, and again [23]\S+x \[/, command.out.string)
        assert_equal [0, command.out.string, ""], lab("report", command.run.recorder.path)
      end
      gate(gem, "--quick", "--processes", "2") { |code, _rows| assert_equal 2, code }
    end
  end

  def test_what_is_the_same_passes
    SmallGem.make do |gem|
      gate(gem, "--exact", "--same", "--base", "HEAD") do |code, rows, command|
        assert_equal 0, code, command.err.string
        assert_equal %w[same], rows.map { |one| one["verdict"] }.uniq
      end
      gate(gem, "--exact", "--base", "HEAD") do |code, rows, command|
        assert_equal [0, []], [code, rows]
        assert_match(/\APassed: nothing that figures can depend on differs\.$/, command.out.string)
      end
      assert_match(/^In all about 5 min/, lab("gate", "--plan", "--repository", gem.folder)[1])
    end
  end

  def test_the_words_that_accept_a_regression
    rows = [{ "cell" => "parse", "verdict" => "regressed" }, { "cell" => "parse", "verdict" => "wrong" }]
    { "parse" => %w[accepted wrong], "parser" => %w[regressed wrong], "pars" => %w[regressed wrong],
      "parse - why" => %w[accepted wrong], "parse why" => %w[regressed wrong] }.each do |text, verdicts|
      found = Lab::Tables::Gate::Acceptance.new([text]).apply(rows)
      assert_equal verdicts, found.map { |one| one["verdict"] }, text
    end
  end

  def test_benchmarks_that_are_better_new_wrong_broken_and_that_cannot_be_loaded
    SmallGem.make do |gem|
      gem.change("lib/small_gem.rb", "module SmallGem", "module SmallGem\n  def self.fresh = 1")
      gem.write("bench/fresh_bench.rb", "Tiercel::Lab.benchmark(\"fresh\") { SmallGem.fresh }\n")
      gem.change("lib/small_gem.rb", "text.split(\",\")", "%w[a b c]")
      gate(gem, "--exact", "--base", "HEAD") do |code, rows, command| # not committed yet
        assert_equal [0, %w[fresh]], [code, verdicts(rows, "new")], command.err.string
        assert_equal "improved", row(rows, "parse", "objects")["verdict"]
      end
      gem.commit("New").change("lib/small_gem.rb", "def self.fresh = 1", "")
      gem.change("lib/small_gem.rb", "%w[a b c]", "[text]")
      gem.write("bench/fresh_bench.rb", "%w[ends fresh later].each { |name| Tiercel::Lab.benchmark(name) { " \
                                        "{ 'ends' => -> { exit!(3) }, 'fresh' => -> { SmallGem.fresh } }" \
                                        ".fetch(name) { -> { 1 } }.call } }\n").commit("Gone")
      gate(gem, "--exact", "--accept", "fresh") do |code, rows, command|
        assert_equal [4, %w[fresh parse]], [code, verdicts(rows, "wrong").sort]
        assert_match(/parse +wrong: wrong values: returned \["a,b,c"\], expected/, command.out.string)
        assert_equal %w[ends], verdicts(rows, "cannot tell")
        assert_includes verdicts(rows, "same"), "later"
      end
      gem.write("bench/fresh_bench.rb", "raise 'no'\n")
      gate(gem, "--exact") do |code, _rows, command|
        assert_equal 3, code
        assert_match(%r{bench/fresh_bench.rb.*RuntimeError: no}, command.err.string)
      end
    end
  end

  # If gems of either side cannot be installed, nothing is known about the change.
  def test_a_side_without_its_gems_cannot_be_told
    gems = "gem \"tiercel-lab-no-such-gem\", path: \"nowhere\"\n"
    SmallGem.make do |gem|
      gem.write("Gemfile", gems).commit("A gem that is nowhere")
      File.delete(File.join(gem.folder, "Gemfile"))
      gem.change("lib/small_gem.rb", "text.split", "text.dup.split").commit("Without it")
      gate(gem, "--exact") do |code, _rows, command|
        assert_equal 3, code
        assert_match(/the gems of .* could not be installed/, command.err.string)
      end
      gem.write("Gemfile", gems).commit("With it")
      gate(gem, "--exact") { |code, _rows, command| assert_equal 3, code, command.out.string }
    end
  end

  # With `cannot_tell: fail`.
  def test_undecided_cells_fail_where_the_settings_say_so
    tables = ->(word) { [{ "name" => "sides", "rows" => [{}, {}], "notes" => { "cannot_tell" => word } },
                         { "name" => "gate", "rows" => [{ "verdict" => "cannot tell" }], "notes" => {} }] }
    assert_equal [3, 1], %w[pass fail].map { |word| Lab::Tables::Gate::Table.exit_code({ "tables" => tables[word] }) }
  end

  def test_what_cannot_be_followed
    SmallGem.make(gate: nil) do |gem|
      { [] => /\.tiercel-lab\.yml: there is no such file; `init gate` writes it/,
        ["--base", "nothing"] => /there is no such file/ }.each do |arguments, words|
        gate(gem, *arguments) { |code, _rows, command| assert_match(words, [code, command.err.string].join(" ")) }
      end
      { "gate: { margin: {} }" => /margin.*Did you mean margins/, "gate: { margins: { objects: x } }" => /number of at/,
        "gate: [" => /not YAML/, "gate: { cells: [{ store: x, op: read }] }" => /op.*is not known/,
        "gate: { budget: 0 }" => /budget: 0: expected seconds/,
        "gate: { servers: oracle }" => /oracle/ }.each do |text, words|
        gem.write(".tiercel-lab.yml", text)
        gate(gem, "--base", "HEAD") do |code, _rows, command|
          assert_equal 2, code, text
          assert_match words, command.err.string
        end
      end
      gem.write(".tiercel-lab.yml", "gate: {}")
      gate(gem, "--base", "nothing") do |code, _rows, command|
        assert_match(/2 .*revision "nothing" is not in/, "#{code} #{command.err.string}")
      end
    end
  end

  # A gate whose arms are slow to open times fewer cells, so that it keeps its budget.
  def test_the_timed_cells_fit_into_the_budget
    timing = Lab::Sides::Timing
    rooms = [[180, 0.1], [180, 1.0], [180, 20.0], [0, 0.1]].map do |seconds, open_seconds|
      room = timing.room(seconds, 3, open_seconds)
      blocks = timing::PROTOCOL.slices * timing::PROTOCOL.slice_ns / 1e9
      assert_operator room * 3 * timing::LEAST_PROCESSES * (open_seconds + blocks), :<=, seconds
      room
    end
    assert_equal [true, 0, 0], [rooms[0] > rooms[1] && rooms[1].positive?, *rooms[2..]], rooms.inspect
  end
end
