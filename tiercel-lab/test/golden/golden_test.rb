# frozen_string_literal: true

require_relative "../support/lab_case"
require_relative "recording"

# Small real runs of every command, which record.rb makes on a machine with other work. `report` must print the same as
# the recorded run.
class GoldenTest < LabCase
  # Commands that keep a run. `compare` has two forms.
  COMMANDS = %w[all boot capabilities client cold compare compare-sides compressors end-to-end herd latency
                profile selfcheck serializers sizes sqlite].freeze
  LARGEST_BYTES = 64 * 1024
  MEANT = "is rendered otherwise than before; where that is meant: " \
          "bin/exec ruby -Itiercel-lab/lib tiercel-lab/test/golden/record.rb --render"

  def test_every_command_has_one
    assert_empty COMMANDS - Recording.all.map(&:name)
    Recording.all.each do |recording|
      assert_equal recording.name.delete_suffix("-sides"), recording.results["run"]["command"]
    end
  end

  def test_they_are_results_small_and_say_nothing_of_a_folder
    Recording.all.each do |recording|
      document = recording.results
      parts = document["parts"].to_a.filter_map { |part| part["results"] }
      [document, *parts].each { |one| assert_empty SCHEMA.errors(one) }
      assert_operator File.size(recording.path), :<, LARGEST_BYTES, recording.name
      assert_empty File.read(recording.path).scan(%r{"/\w+/[^"]*}), recording.name
    end
  end

  def test_what_a_run_printed_is_printed_of_its_file
    Recording.all.each { |recording| assert_equal recording.printed, recording.rendered, "#{recording.name} #{MEANT}" }
  end

  def test_exit_code_markdown_csv_and_html
    kept = Recording.renderings
    Recording.all.each do |recording|
      assert_equal kept.fetch(recording.name), recording.renderings, "#{recording.name} #{MEANT}"
    end
  end

  # Every line fits a terminal of 80 columns, except what is to be pasted.
  def test_every_report_fits_a_terminal
    io = StringIO.new.tap { |one| one.define_singleton_method(:tty?) { true } }
    style = Lab::Report::Terminal::Style.new(io, { "NO_COLOR" => "1" })
    Recording.all.each do |recording|
      document = Lab::CLI.document(recording.results, program: Recording::PROGRAM)
      code = document.sections.flat_map(&:elements).grep(Lab::Report::Document::Code)
                     .flat_map { |one| one.text.lines(chomp: true) }
      lines = Lab::Report::Terminal.render(document, style:).lines(chomp: true)
      long = lines.select { |line| line.length > 80 && !line.match?(/\AAgain: |  config\.cache_store = /) } - code
      assert_empty long, recording.name
    end
  end
end
