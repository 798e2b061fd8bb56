# frozen_string_literal: true

desc "Print which folder of lib/ needs which; fails where folders need each other"
task :tree do
  require_relative "../test/support/folder_graph"
  graph = FolderGraph.new(File.expand_path("../lib", __dir__))
  graph.edges.sort.each { |from, targets| puts "#{from} -> #{targets.keys.sort.join(", ")}" }
  graph.cycles.each { |group| puts "", "#{group.sort.join(", ")} need each other:", graph.reasons(group) }
  abort if graph.cycles.any?
end
