# frozen_string_literal: true

require "test_helper"
require "support/rails_app"
require "support/small_shared_memory"

# The base class of tests in a real Rails application.
class RailsAppTest < Tiercel::TestCase
  private

  # @param line [String] a Rails version
  # @yieldparam app [RailsApp]
  def with_app(line = "8.1", **options, &)
    RailsApp.open(line:, **options, &)
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
