# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache/tiercel_store"

# Tags in calls: the accepted forms.
class StoreTagsNamesTest < Tiercel::TestCase
  USUAL = [[], ["a"], [:a, "b" * 250], ["größe"], Array.new(100) { |index| index.to_s }].freeze
  UNUSUAL = [nil, "a", [""], [:""], ["b" * 251], [nil], [1], [["a"]], Array.new(101) { |index| index.to_s },
             [Class.new(String).new("a")]].freeze

  def test_usual_tags
    skip "the extension is not built" unless Tiercel::Codec.native
    USUAL.each { |tags| assert_nil naming({ tags: tags, expires_in: 1 }), tags.inspect }
    UNUSUAL.each { |tags| assert_equal false, naming({ tags: tags }), tags.inspect }
    assert_equal false, Tiercel::Codec.native.naming_options({ tags: [] }, nil, 250, true)
  end

  # A hit needs no tags, but invalid ones still raise.
  def test_a_hit_refuses_what_a_miss_refuses
    store = Tiercel.new("memory:")
    store.write("name", 1, tags: ["a"])
    [[""], ["b" * 251], [nil], [{ a: 1 }], Array.new(101) { |index| index.to_s }].each do |tags|
      assert_raises(ArgumentError) { store.fetch("name", tags: tags) { 2 } }
      assert_raises(ArgumentError) { store.read("name", tags: tags) }
    end
    [nil, [], ["a"], :a, [%w[a b]], [1]].each do |tags|
      assert_equal [1, 1, 1], [store.fetch("name", tags: tags) { 2 }, store.read("name", tags: tags),
                               store.fetch("name", tags: tags, expires_in: 60) { 2 }]
    end
  end

  private

  def naming(options) = Tiercel::Codec.native.naming_options(options, 100, 250, true)
end
