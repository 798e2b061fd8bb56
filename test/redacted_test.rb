# frozen_string_literal: true
# quick

require "test_helper"
require "uri"

# Messages show callers' values without secrets.
class RedactedTest < Tiercel::TestCase
  # An object that contains a secret.
  class Sealed
    def initialize = @key = "hunter2"
  end

  def test_what_holds_no_text_is_shown
    values = [nil, true, 1, -1.5, 2**70, :name, String, 1..2, Time.at(0)]
    values.each { |value| assert_equal value.inspect, text(value) }
  end

  def test_texts_are_shown_without_what_urls_keep_secret
    assert_equal '"much"', text("much")
    assert_equal '"redis://cache"', text("redis://user:hunter2@cache?token=hunter2")
    assert_equal '"redis://cache"', text(URI("redis://:hunter2@cache"))
    assert_equal '"\xFF"', text("\xFF")
  end

  def test_of_collections_the_shape_is_shown
    assert_equal "{url: ..., port: 6379, deep: {password: ...}, 1: [..., nil, :a]}",
                 text({ url: "redis://:hunter2@cache", port: 6379, "deep" => { password: "hunter2" },
                        1 => ["hunter2", nil, :a] })
  end

  def test_of_objects_the_class_is_shown
    assert_equal "#<RedactedTest::Sealed>", text(Sealed.new)
    refute_includes text([Sealed.new, { a: Sealed.new }]), "hunter2"
  end

  private

  def text(value) = Tiercel::Redacted.text(value)
end
