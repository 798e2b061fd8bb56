# frozen_string_literal: true

# Installs the gems of every suite and of every contestant of the lab: `bin/setup bundles`. Gems that cannot be
# installed are reported, and are no failure: the suite or the lab's row says so again.

require_relative "runner/bundle"
require_relative "runner/suites"

root = File.expand_path("../..", __dir__)
suites = TestRunner::Suites.new(File.join(root, "test/suites.rb"), root: root)
suites = suites.reject { |suite| suite.commands || suite.needs }
suites.map { |suite| File.join(root, suite.gemfile) }.uniq.each do |gemfile|
  problem = TestRunner::Bundle.new(gemfile).install($stdout)
  puts problem if problem
end

$LOAD_PATH.unshift(File.join(root, "tiercel-lab/lib"))
require "tiercel/lab"
Dir[File.join(root, "tiercel-lab/gemfiles/*.gemfile")].each do |gemfile|
  Tiercel::Lab::Engine::Bundle.new(File.basename(gemfile, ".gemfile")).install
rescue Tiercel::Lab::CannotRun => e
  puts e.message
end
