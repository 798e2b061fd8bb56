# frozen_string_literal: true

# The program of a {Tiercel::Lab::Engine::Job}: `ruby job_main.rb INPUT_FD OUTPUT_FD PATH [FILE...]`. The program does
# not use standard output, because contestants may print there.
begin
  require "active_support"
  require "active_support/cache"
  require "active_support/notifications"
  # Applies the settings of an application with the current `load_defaults`.
  ActiveSupport::Cache.format_version = 7.1 if ActiveSupport::Cache.respond_to?(:format_version=)
rescue LoadError
  nil # the bundle of a gem without it, whose benchmarks need none
end

input, output, path, *files = ARGV
require_relative "../../lab"
require_relative "../#{path}" if path.start_with?("tables/")
files.each { |file| require File.expand_path(file) }
Signal.trap("INT", "IGNORE") # the parent decides

input = IO.for_fd(Integer(input), "r:UTF-8") # whatever the locale is
output = IO.for_fd(Integer(output), "w")
name = path.split("/").map { |part| part.split("_").map(&:capitalize).join }.join("::")
object = Tiercel::Lab.const_get(name).new
object.pipes = [input, output] if object.respond_to?(:pipes=)
while (line = input.gets)
  request = JSON.parse(line, symbolize_names: true)
  answer = begin
    { value: object.public_send(request.fetch(:call), **request.fetch(:arguments)) }
  rescue StandardError, NotImplementedError => e
    { error: "#{e.class}: #{e.message}", at: e.backtrace&.first }
  end
  output.puts(JSON.generate(answer))
  output.flush
end
