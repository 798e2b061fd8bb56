# frozen_string_literal: true

desc "Write the table of all options into docs/store.md"
task :options do
  $LOAD_PATH.unshift(File.expand_path("lib"))
  require_relative "options/options_table"
  page = File.read("docs/store.md")
  File.write("docs/store.md", page.sub(/^\| taken by .*\n(?:\|.*\n)+/) { OptionsTable.text })
end
