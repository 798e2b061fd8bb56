# frozen_string_literal: true

require "test_helper"
require "support/rails_app"
require "tiercel/insight"

# The base class of tests in a real Rails application with tiercel-insight.
class InsightAppTest < Tiercel::TestCase
  LIB = File.expand_path("../lib", __dir__)

  private

  # @yieldparam app [RailsApp]
  def with_app(line = "8.1")
    RailsApp.open(line:) do |app|
      app.prefix = ["env", "RUBYLIB=#{LIB}"]
      boot = app.read("config/application.rb")
      app.write("config/application.rb", boot.sub(/^Bundler\.require.*$/) { |line| "#{line}
require \"tiercel/insight\"" })
      yield app
    end
  rescue Tiercel::Lab::CannotRun => error
    raise if ENV["CI"]
    skip(error.message)
  end

  # @param ran [RailsApp::Ran]
  # @return [String] the output
  def out(ran)
    assert ran.ok?, ran.to_s
    ran.out
  end
end
