# frozen_string_literal: true

# The entry point of bin/test. The program runs with the project's Ruby and without a bundle, because each suite has its
# own.

require_relative "runner/command_line"

begin
  exit TestRunner::CommandLine.new(ARGV).run
rescue Interrupt
  warn "bin/test: interrupted"
  exit 130
end
