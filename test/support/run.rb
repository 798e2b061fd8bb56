# frozen_string_literal: true

# bin/test ends here, with the project's Ruby and no bundle: each suite brings its own.

require_relative "runner/command_line"

begin
  exit TestRunner::CommandLine.new(ARGV).run
rescue Interrupt
  warn "bin/test: interrupted"
  exit 130
end
