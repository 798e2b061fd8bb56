# frozen_string_literal: true
# quick

require "test_helper"
require "tiercel/store"
require "active_support/core_ext/integer/time"
require "active_support/hash_with_indifferent_access"

# The options that the fast path knows.
class CodecOptionsTest < Tiercel::TestCase
  LASTING = [1, 0.5, Float::INFINITY, 5.minutes, 1.5.seconds, 1.month].freeze
  OTHERS = [nil, 0, -1, 0.0, -0.5, Float::NAN, 0.seconds, -5.minutes, 2**70, 1r, "60", :a, Object.new, [1],
            BasicObject.new].freeze

  def setup
    @native = Tiercel::Codec.native or skip "the extension is not built"
  end

  def test_seconds
    LASTING.each { |seconds| assert_equal [true, nil], [@native.lasts?(seconds), naming(expires_in: seconds)] }
    OTHERS.each { |seconds| assert_equal [false, false], [@native.lasts?(seconds), naming(expires_in: seconds)] }
  end

  def test_known_options
    assert_nil naming({})
    assert_nil naming(Hash.new(5))
    assert_nil naming(expires_in: 5, race_condition_ttl: 5.seconds, skip_nil: true)
    assert_nil naming(race_condition_ttl: 5)
    assert_nil naming(tags: [:a], skip_nil: true)
    [{ version: nil }, { namespace: nil }, { namespace: "a", expires_in: 1 }, { namespace: :a, version: "1", tags: [] }]
      .each { |options| assert_same options, naming(options) }
  end

  def test_other_options
    [{ raw: true }, { expires_in: 5, raw: nil }, { skip_nil: false }, { skip_nil: 1 }, { namespace: -> { "a" } },
     { namespace: Class.new(String).new("a") }, { race_condition_ttl: nil }, { "expires_in" => 5 },
     ActiveSupport::HashWithIndifferentAccess.new(expires_in: 5), nil, "a", 1].each do |options|
      assert_equal false, naming(options), options.inspect
    end
    assert_equal false, @native.naming_options({ version: "1" }, 100, 250, false)
  end

  private

  def naming(options) = @native.naming_options(options, 100, 250, true)
end
