# frozen_string_literal: true

# Serves one application: `ruby serve.rb APP HOST PORT CONFIG`, with Puma's defaults: one process, five threads.
app, host, port, config = ARGV
ENV["TIERCEL_LAB_CACHE"] = config
ENV["RACK_ENV"] ||= "production"

begin
  require "puma"
  require "puma/cli"
rescue LoadError => e
  abort "gem puma is not in the bundle: add gem \"puma\" to the Gemfile (#{e.message})"
end

Puma::CLI.new(["--bind", "tcp://#{host}:#{port}", "--threads", "5:5", "--environment", ENV.fetch("RACK_ENV"),
               "--silent",
               app]).run
