# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache/tiercel_store"

# Runs the code of docs/tags.md and compares the results with the values behind the arrows; its limits must equal
# those in the code.
class TagsPageTest < Tiercel::TestCase
  PAGE = File.expand_path("../../docs/tags.md", __dir__)
  TEXT = File.read(PAGE)

  TEXT.scan(/^```ruby\n(.*?)^```/m).flatten.each_with_index do |code, index|
    define_method(:"test_block_#{index + 1}") do
      scope = binding
      code = code.gsub(/^(.*\S)\n# => /, "\\1 # => ")
      code.gsub(/^(.*\S)\s+# => (.*)$/) { assertion($1, $2) }.then { |text| scope.eval(text, PAGE) }
    end
  end

  def test_the_bounds
    named = Tiercel::Store::Tags::Named
    assert_includes TEXT, "at most #{named::MAX_COUNT} tags, of at most #{named::MAX_BYTES} bytes"
    assert_includes TEXT, Tiercel::Store::Tags::KEY_PREFIX
  end

  private

  def assertion(code, value) = value == "nil" ? "assert_nil((#{code}))" : "assert_equal(#{value}, (#{code}))"
end
