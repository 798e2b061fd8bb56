# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache/tiercel_store"

# Runs the code of docs/fetch.md and compares the results with the values behind the arrows; its table must list all
# options.
class FetchPageTest < Tiercel::TestCase
  PAGE = File.expand_path("../../docs/fetch.md", __dir__)
  TEXT = File.read(PAGE)

  TEXT.scan(/^```ruby\n(.*?)^```/m).flatten.each_with_index do |code, index|
    define_method(:"test_block_#{index + 1}") do
      scope = binding
      code.gsub(/^(.*\S)\s+# => (.*)$/) { "assert_equal(#{$2}, (#{$1}))" }.then { |text| scope.eval(text, PAGE) }
    end
  end

  def test_the_options
    stated = TEXT[/^## Options.*?(?=^## )/m].scan(/^\| `(\w+)` \|/).flatten.map(&:to_sym)
    assert_equal Tiercel::FetchPolicy::NAMES.sort, stated.sort
  end

  def test_the_defaults
    policy = Tiercel::FetchPolicy.new({})
    assert_equal [true, 10, 20, nil, nil, false, 0],
                 [policy.lease, policy.lease_ttl, policy.lease_wait, policy.stale_while_revalidate,
                  policy.stale_if_error, policy.background?, policy.jitter]
  end
end
