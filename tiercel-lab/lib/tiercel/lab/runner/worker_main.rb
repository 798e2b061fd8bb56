# frozen_string_literal: true

# A worker process: `ruby worker_main.rb INPUT_FD OUTPUT_FD [FILE...]`. Standard output is left to whatever the
# contestants print.
require "active_support"
require "active_support/cache"
require "active_support/notifications"

# What an application with current `load_defaults` has.
ActiveSupport::Cache.format_version = 7.1 if ActiveSupport::Cache.respond_to?(:format_version=)

require_relative "worker"

input, output, *files = ARGV
files.each { |file| require File.expand_path(file) }
Signal.trap("INT", "IGNORE") # the parent decides
Tiercel::Lab::Runner::Worker.new(IO.for_fd(Integer(input), "r"), IO.for_fd(Integer(output), "w")).serve
