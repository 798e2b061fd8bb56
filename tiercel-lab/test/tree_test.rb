# frozen_string_literal: true

require "test_helper"
require "support/folder_graph"

# How the lab's folders depend on each other. A document knows nothing of what it shows, and what is measured does not
# come out of a view.
class LabTreeTest < Tiercel::TestCase
  GRAPH = FolderGraph.new(File.expand_path("../lib", __dir__), within: "tiercel/lab")

  def test_no_folder_uses_one_that_uses_it
    assert_empty GRAPH.cycles, GRAPH.cycles.map { |group| GRAPH.reasons(group) }.join("\n\n")
  end

  def test_dependencies_point_downwards
    needed = GRAPH.edges.transform_values(&:keys)
    { "cli" => %w[tables engine report], "tables" => %w[engine report statistics servers],
      "engine" => %w[statistics servers] }.each { |folder, below| assert_empty below - needed[folder], folder }
    %w[engine statistics network values operations stores].each do |folder|
      assert_empty needed.fetch(folder, []) & %w[cli tables report], folder
    end
    assert_empty needed.fetch("report", [])
  end
end
