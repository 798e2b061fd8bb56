# frozen_string_literal: true

require "prism"
require "tsort"

# The dependencies between the folders of lib/: by `require_relative`, including lazy ones, and by the constants that
# their files use. lib/tiercel/x.rb and lib/tiercel/x/ count as one folder.
class FolderGraph
  include TSort

  # Modules that many folders reopen; a reference to one of them is not a dependency.
  NAMESPACES = %w[Tiercel Tiercel::Lab ActiveSupport ActiveSupport::Cache Rails Rails::Command].freeze
  # The entry points, which load each other, count as one folder.
  ENTRY = /\A(?:tiercel\.rb|active_support|rails)\b/

  # The constants that one file defines and uses, each with its enclosing modules.
  class Constants < Prism::Visitor
    # @return [Array<String>]
    attr_reader :defined
    # @return [Array<Array(Array<String>, String)>]
    attr_reader :referred

    def initialize
      @defined, @referred, @around = [], [], []
      super
    end

    def visit_module_node(node) = within(node)

    def visit_class_node(node)
      visit(node.superclass) if node.superclass
      within(node)
    end

    def visit_constant_write_node(node)
      @defined << [@around.last, node.name].compact.join("::")
      super
    end

    def visit_constant_path_node(node) = @referred << [@around.dup, node.slice.delete_prefix("::")]
    def visit_constant_read_node(node) = @referred << [@around.dup, node.name.to_s]

    private

    def within(node)
      name = [@around.last, node.constant_path.slice].compact.join("::")
      @defined << name
      @around.push(name)
      visit(node.body) if node.body
      @around.pop
    end
  end

  # @param root [String] the path of lib/
  # @param within [String] the folder whose folders are compared; files beside it belong to the entry
  def initialize(root, within: "tiercel")
    @root, @within = root, within
    @files = Dir["#{root}/**/*.rb"].to_h do |path|
      constants = Constants.new
      constants.visit(Prism.parse_file(path).value)
      [path, constants]
    end
  end

  # @return [Hash{String => Hash{String => Array<String>}}] for each folder, the folders that it needs and the reasons
  def edges
    @edges ||= @files.each_with_object({}) do |(path, constants), all|
      (required(path) + referred(constants)).each do |target, reason|
        from, to = folder(path), folder(target)
        next if from == to
        ((all[from] ||= {})[to] ||= []) << "#{path.delete_prefix("#{@root}/")}: #{reason}"
      end
    end
  end

  # @return [Array<Array<String>>] groups of folders that need each other
  def cycles = strongly_connected_components.select { |group| group.size > 1 }

  # @param group [Array<String>] one of {#cycles}
  # @return [String] the reasons why they need each other
  def reasons(group)
    group.product(group).flat_map do |from, to|
      (edges.dig(from, to) || []).uniq.map { |reason| "#{from} -> #{to}: #{reason}" }
    end.join("\n")
  end

  def tsort_each_node(&) = (edges.keys | edges.values.flat_map(&:keys)).each(&)
  def tsort_each_child(node, &) = (edges[node] || {}).each_key(&)

  private

  def folder(path)
    name = path.delete_prefix("#{@root}/")
    return "entry" if name.match?(ENTRY) || !name.start_with?("#{@within}/")
    name.delete_prefix("#{@within}/").split("/").first.delete_suffix(".rb")
  end

  def required(path)
    File.read(path).scan(/^[^#\n]*require(_relative)?[ (]"([^"#]+)"/).filter_map do |relative, name|
      target = File.expand_path("#{name}.rb", relative ? File.dirname(path) : @root)
      # The entry says where each constant is, and needs none of them to be loaded.
      [target, "requires #{name}"] if @files.key?(target) && name != "tiercel"
    end
  end

  def referred(constants)
    constants.referred.filter_map do |around, name|
      target = around.reverse.push(nil).filter_map { |scope| home([scope, name].compact.join("::")) }.first
      [target, "refers to #{name}"] if target
    end
  end

  # The file that defines a constant; nil for a module that many files reopen.
  def home(name)
    @homes ||= @files.flat_map { |path, constants| constants.defined.uniq.map { |one| [one, path] } }
                     .group_by(&:first).transform_values { |pairs| pairs.map(&:last) }
    paths = @homes[name] unless NAMESPACES.include?(name)
    return unless paths
    paths.find { |path| folder(path) == snake(name.split("::")[@within.count("/") + 1] || name) } || paths.first
  end

  def snake(name) = name.gsub(/([a-z\d])([A-Z])/, '\1_\2').downcase
end
