# frozen_string_literal: true
# quick

require "test_helper"
require "tiercel"

class RemoteOptionsTest < Tiercel::TestCase
  Options = Tiercel::Backends::Remote::Options

  def test_timeout
    assert_equal 0.25, Options.timeout({})
    assert_equal 1.5, Options.timeout({ timeout: "1.5" })
    [0, -1, "soon", [], "", Float::INFINITY, Float::NAN].each do |value|
      error = assert_raises(Tiercel::ConfigurationError) { Options.timeout({ timeout: value }) }
      assert_includes error.message, "got #{value.inspect}"
    end
  end

  def test_ports
    Options.check_ports("x:", ["a", "a:1", "a:65535:2", "[::1]:11211", "[::1]", "a:port"])
    %w[a:0 a:65536 a:99999:1 [::1]:70000].each do |place|
      error = assert_raises(Tiercel::ConfigurationError, place) { Options.check_ports("x://h", ["b:1", place]) }
      assert_match(%r{\Ax://h: port \d+: expected 1 to 65535\z}, error.message)
    end
  end

  def test_pool
    assert_equal({ size: 5, timeout: 5.0 }, Options.pool({}))
    assert_equal({ size: 5, timeout: 5.0 }, Options.pool({ pool: true }))
    assert_equal({ size: 12, timeout: 1.5 }, Options.pool({ pool: { size: "12", timeout: "1.5" } }))
    assert_equal({ size: 12, timeout: 5.0 }, Options.pool({ pool: "12" }))
    assert_equal({ size: 3, timeout: 2.0 }, Options.pool({ pool: { "size" => "3", "timeout" => "2" } }))
    assert_equal({ size: nil, timeout: 5.0 }, Options.pool({ pool: false }))
    assert_equal({ size: nil, timeout: 5.0 }, Options.pool({ pool: "false" }))
    [{ size: 0 }, { size: [] }, "many", -1, { timeout: [] }, { width: 1 }].each do |value|
      assert_raises(Tiercel::ConfigurationError, value.inspect) { Options.pool({ pool: value }) }
    end
  end
end
