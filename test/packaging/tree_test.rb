# frozen_string_literal: true

require "test_helper"
require "support/folder_graph"

# The folders of lib/ have no cyclic dependencies.
class TreeTest < Tiercel::TestCase
  LIB = File.expand_path("../../lib", __dir__)

  def test_no_folders_need_each_other
    graph = FolderGraph.new(LIB)
    assert_operator graph.edges.size, :>, 20
    assert_empty graph.cycles, graph.cycles.map { |group| graph.reasons(group) }.join("\n\n")
  end

  # A private name of Rails or of a server's client breaks with its next release.
  def test_no_private_names_of_other_gems
    private_names = /class_variable_[gs]et|instance_variable_get\(:@(?!tiercel_)/
    found = Dir["#{LIB}/**/*.rb", "#{LIB}/../tiercel-insight/lib/**/*.rb"].flat_map do |path|
      File.readlines(path).grep(private_names).map { |line| "#{File.basename(path)}: #{line.strip}" }
    end
    assert_empty found
  end

  def test_cycles_are_found
    files = { "tiercel/one.rb" => "module Tiercel\n  class One\n    def two = Two::Part.new\n  end\nend",
              "tiercel/two.rb" => "module Tiercel\n  class Two\n    class Part; end\n  end\nend",
              "tiercel/two/lazy.rb" => "class Lazy\n  def load = require_relative(\"../one\")\nend" }
    with_tmpdir do |root|
      files.each do |name, text|
        FileUtils.mkdir_p(File.dirname("#{root}/#{name}"))
        File.write("#{root}/#{name}", text)
      end
      graph = FolderGraph.new(root)
      assert_equal [%w[one two]], graph.cycles.map(&:sort)
      assert_match(%r{tiercel/one.rb: refers to Two::Part}, graph.reasons(graph.cycles.first))
      assert_match(%r{tiercel/two/lazy.rb: requires \.\./one}, graph.reasons(graph.cycles.first))
    end
  end
end
