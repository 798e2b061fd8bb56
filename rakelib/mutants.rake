# frozen_string_literal: true

desc "Plant the faults of test/mutants.rb one at a time, and list those that no test notices: rake mutants[PATTERN]"
task :mutants, [:pattern] do |_task, arguments|
  require_relative "../test/support/mutants"
  survivors = Mutants.new(File.expand_path("..", __dir__)).run(Regexp.new(arguments[:pattern] || ""))
  abort "#{survivors.size} survived" unless survivors.empty?
end
