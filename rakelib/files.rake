# frozen_string_literal: true

desc "Write the files that calls enter into ARCHITECTURE.md and test/golden/entered_files.txt"
task :files do
  $LOAD_PATH.unshift(File.expand_path("lib"), File.expand_path("test"))
  require "tiercel"
  require "support/entered_files"
  all = EnteredFiles.all
  rules = File.read(EnteredFiles::RULES)
  File.write(EnteredFiles::RULES, EnteredFiles.replaced(rules, EnteredFiles.table(all)))
  File.write(EnteredFiles::NAMES, EnteredFiles.names(all))
  puts EnteredFiles.table(all)
end
