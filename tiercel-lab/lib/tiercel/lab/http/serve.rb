# frozen_string_literal: true

# A process with one application: `ruby serve.rb APP HOST PORT CONFIG`. Puma where it is there, with one process and
# five threads as it comes; else a small server of the lab's own.
app, host, port, config = ARGV
ENV["TIERCEL_LAB_CACHE"] = config
ENV["RACK_ENV"] ||= "production"

puma = begin
  require "puma"
  require "puma/cli"
  true
rescue LoadError
  false
end

if puma
  Puma::CLI.new(["--bind", "tcp://#{host}:#{port}", "--threads", "5:5", "--environment", ENV.fetch("RACK_ENV"),
                 "--silent", app]).run
else
  require_relative "small_server"
  application = Array(Rack::Builder.parse_file(app)).first
  Tiercel::Lab::Http::SmallServer.new(application, host:, port: Integer(port)).run
end
