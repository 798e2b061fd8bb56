# frozen_string_literal: true

# Fails a passing test without any assertion, because such a test cannot fail.
module AssertionsRequired
  def after_teardown
    super
    flunk "no assertion was made: a test without one cannot fail" if failures.empty? && assertions.zero?
  end
end

Minitest::Test.prepend(AssertionsRequired)
