# frozen_string_literal: true
# quick

require "test_helper"
require "tiercel"

class KeyPatternTest < Tiercel::TestCase
  def test_keys_of_any_bytes
    pattern = Tiercel::KeyPattern.new("app:", /\Aapp:(?:a.\u{FFFD}|ä)\z/m)
    assert(["app:ä", "app:ä".b, "app:a\n\xFF".b].all? { |key| pattern.match?(key) })
    refute pattern.match?("other")
  end
end
