# frozen_string_literal: true

desc "Run other gems' test suites with Tiercel beside their own store: rake other_gems[SOURCES,PATTERN]"
task :other_gems, [:sources, :pattern] do |_task, arguments|
  $LOAD_PATH.unshift(File.expand_path("lib"), File.expand_path("tiercel-lab/lib"))
  require_relative "../test/other_gems/runner"
  sources = arguments[:sources] || "tmp/other_gems/sources"
  unexplained = OtherGems.new(File.expand_path(sources), only: Regexp.new(arguments[:pattern] || "")).run
  abort "#{unexplained.size} failures that the gems' own stores do not have" unless unexplained.empty?
end
