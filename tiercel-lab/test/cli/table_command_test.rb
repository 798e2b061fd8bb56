# frozen_string_literal: true

require_relative "../support/lab_case"

class TableCommandTest < LabCase
  module Ages
    class Table < Tiercel::Lab::Tables::Table
      called "ages", "How old things are."

      def options(parser) = parser.on("--interrupted SIGNAL") { |signal| @interrupt = signal }

      def take(_comparisons)
        run.watch(1.0) do |progress|
          run.table("ages", [{ thing: "oak", age: 300 }])
          progress.advance(1.0, "oak")
          raise SignalException, @interrupt if @interrupt
        end
      end
    end

    class View < Tiercel::Lab::Tables::View
      def title = "Ages"

      def sentence = "#{rows("ages").size} ages."

      def fill(document)
        document.section("All") do |section|
          section.table("Ages: all", header: %w[thing age], rows: rows("ages").map(&:values))
        end
      end
    end
  end

  def run_ages(*arguments)
    Dir.mktmpdir do |folder|
      command = Lab::CLI::TableCommand.new(Ages::Table, out: StringIO.new, err: StringIO.new, program: "bin/lab")
      code = command.call([*arguments, "--results", folder])
      yield code, command, Dir[File.join(folder, "*.jsonl")].first
    end
  end

  def test_measures_keeps_and_renders
    run_ages("--seed", "3") do |code, command, kept|
      assert_equal 0, code
      assert_match(/\A1 ages\.\n\n.*\n\nAll\n\nAges: all\n.*\noak +300\n/m, command.out.string)
      assert_equal command.results, Lab::Engine::Results.load(kept)
      assert_equal "bin/lab ages --seed 3 --results #{File.dirname(kept)}", command.document.command
    end
  end

  def test_what_was_measured_before_a_signal_is_kept_and_shown
    %w[INT TERM].each do |signal|
      run_ages("--interrupted", signal) do |code, command, kept|
        assert_equal 130, code
        assert_match(/oak +300/, command.out.string)
        assert_match(/Interrupted/, command.out.string)
        refute Lab::Engine::Results.load(kept)["complete"]
      end
    end
  end

  def test_markdown_without_a_file_is_the_output
    run_ages("--markdown") do |_code, command, _kept|
      assert_match(/^\| oak \| 300 \|$/, command.out.string)
      refute_match(/^oak/, command.out.string)
    end
  end

  def test_markdown_does_not_overwrite_results
    run_ages("--markdown", "kept.jsonl") do |code, command, kept|
      assert_equal [2, nil], [code, kept]
      assert_match(/--markdown=FILE/, command.err.string)
    end
  end

  def test_a_plan_measures_nothing
    run_ages("--plan") do |code, command, kept|
      assert_equal [0, "How old things are.\n", nil], [code, command.out.string, kept]
    end
  end
end
