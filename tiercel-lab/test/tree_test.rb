# frozen_string_literal: true

require "test_helper"
require "prism"
require "tsort"

# How the lab's files depend on each other, by the constants that they name, resolved as Ruby does.
class TreeTest < Tiercel::TestCase
  ROOT = File.expand_path("../lib/tiercel/lab", __dir__)
  MOST_LINES = 700
  # Modules that belong to no part.
  SPACES = %w[Tiercel Tiercel::Lab].freeze

  # Constants that a file defines, and constants that it names, with the modules around them.
  class Constants < Prism::Visitor
    attr_reader :defined, :named

    def initialize
      super
      @defined, @named, @around = [], [], []
    end

    def visit_module_node(node) = scope(node)

    def visit_class_node(node)
      visit(node.superclass) if node.superclass
      scope(node)
    end

    def visit_constant_write_node(node)
      @defined << [*@around, node.name.to_s].join("::")
      visit(node.value)
    end

    def visit_constant_read_node(node) = @named << [@around, [node.name.to_s]]
    def visit_constant_path_node(node) = @named << [@around, node.slice.delete_prefix("::").split("::")]

    private

    def scope(node)
      outer = @around
      @around = [*outer, *node.constant_path.slice.split("::")]
      @defined << @around.join("::")
      visit(node.body) if node.body
      @around = outer
    end
  end

  def files = @files ||= Dir.glob("**/*.rb", base: ROOT).sort

  # @return [Hash{String => Constants}] by file
  def constants
    @constants ||= files.to_h do |file|
      [file, Constants.new.tap { |found| Prism.parse_file(File.join(ROOT, file)).value.accept(found) }]
    end
  end

  # A folder and the file with its name are one part.
  def part(file) = file[/\A[^\/.]+/]

  # A module that several files define belongs to the part with its name, or to no part.
  #
  # @return [Hash{String => String}] part by constant
  def owners
    @owners ||= begin
      by_constant = Hash.new { |all, name| all[name] = [] }
      constants.each { |file, found| found.defined.each { |name| by_constant[name] << part(file) } }
      by_constant.transform_values { |parts| parts.uniq.one? ? parts.first : nil }.except(*SPACES).compact
    end
  end

  def owner(around, path)
    around.size.downto(0) do |depth|
      full = [*around.first(depth), *path].join("::")
      return owners[full] if owners.key?(full)
    end
    path.size > 1 ? owner(around, path[..-2]) : nil
  end

  # @return [Hash{String => Array<String>}] the parts that each part names
  def graph
    edges = Hash.new { |all, name| all[name] = [] }
    constants.each do |file, found|
      edges[part(file)] |= found.named.filter_map { |around, path| owner(around, path) } - [part(file)]
    end
    edges
  end

  def test_no_part_uses_one_that_uses_it
    graph = self.graph
    parts = (graph.keys + graph.values.flatten).uniq
    cycles = TSort.strongly_connected_components(->(&each) { parts.each(&each) },
                                                 ->(part, &each) { graph[part].each(&each) })
    assert_empty cycles.reject(&:one?)
  end

  # Topmost parts first: no other part names them.
  def test_dependencies_point_downwards
    { "cli" => %w[tables engine report], "tables" => %w[engine report statistics servers],
      "engine" => %w[statistics servers] }.each do |part, below|
      below.each { |other| assert_includes graph[part], other, part }
    end
    %w[engine report statistics servers network values operations stores].each do |part|
      assert_empty graph[part] & %w[cli tables], part
    end
    assert_empty graph["report"], "a document knows nothing of what it shows"
    assert_empty graph["engine"] & %w[report], "what is measured does not come out of a view"
  end

  def test_a_cycle_would_be_seen
    constants["cli.rb"].defined << "Tiercel::Lab::Planted"
    constants["engine.rb"].named << [%w[Tiercel Lab], %w[Planted]]
    assert_includes graph["engine"], "cli"
  end

  def test_files_can_be_read_at_once
    long = files.to_h { |file| [file,
                                File.foreach(File.join(ROOT, file)).count] }.select { |_, lines| lines > MOST_LINES }
    assert_empty long
  end
end
