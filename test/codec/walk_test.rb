# frozen_string_literal: true
# suites: kernel

require "test_helper"

# While the C form walks through a value, it calls no method. So no other thread runs, and nothing changes or raises.
class CodecWalkTest < Tiercel::TestCase
  LARGE = (0...20).to_h { |i| [i, "value #{i}"] }.freeze
  ROWS = Array.new(30) { |i| LARGE.transform_values { |text| "#{i} #{text}" } }.freeze
  VALUES = [
    LARGE, [LARGE.dup, { a: LARGE.dup }], ROWS, Hash.new(1).merge(LARGE), Hash.new { 1 }.merge(LARGE),
    {}.compare_by_identity.merge(LARGE), Hash.ruby2_keywords_hash(LARGE), Hash.new([]), {},
    [[LARGE.dup], "text", :symbol, 1.5, 2**70, Object.new], { Object.new => 1 }, Class.new(Hash).new.merge!(LARGE)
  ].freeze

  def test_no_method_is_called
    VALUES.each do |value|
      calls = []
      native = self.native
      trace = TracePoint.new(:call, :c_call) { |point| calls << [point.self, point.method_id] }
      trace.enable do
        native.dump(value)
        native.dump_frame(value, nil, "1", true, true, nil)
      end

      assert_equal [[native, :dump], [native, :dump_frame]], calls, value.class
    end
  end

  private

  def native = Tiercel::CodecExt
end
