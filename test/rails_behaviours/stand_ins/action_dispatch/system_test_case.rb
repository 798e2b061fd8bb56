# frozen_string_literal: true

# Rails 7.2 and 8.0 load Capybara for classes of system tests, which none of the tests of views uses.
class ActionDispatch::SystemTestCase < ActiveSupport::TestCase
  def self.driven_by(...) = nil
end
