# frozen_string_literal: true

# Fails a test that passed without asserting anything: it cannot fail, so it tests nothing.
module AssertionsRequired
  def after_teardown
    super
    flunk "no assertion was made: a test without one cannot fail" if failures.empty? && assertions.zero?
  end
end

Minitest::Test.prepend(AssertionsRequired)
