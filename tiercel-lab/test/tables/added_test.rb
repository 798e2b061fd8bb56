# frozen_string_literal: true

require_relative "../support/lab_case"

# The example table of tiercel-lab/docs/lab.md, built step by step.
class AddedTableTest < LabCase
  PAGE = File.expand_path("../../docs/lab.md", __dir__)

  def with_table
    source = File.read(PAGE)[/^```ruby\n(module Tiercel\n.*?)^```/m, 1]
    Dir.mktmpdir do |folder|
      path = File.join(folder, "table.rb")
      File.write(path, source)
      load path
      yield Lab::Tables.fetch("namespaces")
    end
  ensure
    Lab::Tables.send(:entries).delete("namespaces")
    Lab::Tables.send(:remove_const, :Namespaces) if Lab::Tables.const_defined?(:Namespaces, false)
  end

  def test_it_is_a_command_with_everything_that_a_command_has
    with_table do |table|
      assert_match(/^Your tables\n(  choice .*\n)*  namespaces  What a namespace costs a hit\.$/,
                   lab("help")[1])
      assert_match(/\A2 cells in about/, lab("namespaces", "--plan", "--quick")[1])
      run_table(table, "--quick") do |code, command|
        assert_equal 0, code, command.err.string
        assert_match(/\AWith a namespace a hit takes .+ the time: [a-z ]+\.$/, command.out.string)
        assert_match(/^with +[\d.]+ us/, command.out.string)
        assert_match(/^\| with \| /, Lab::Report::Markdown.render(command.document))
      end
    end
  end
end
