# frozen_string_literal: true
# suites: store

require "test_helper"
require "json"
require "open3"

# A call runs the same code with and without subscribers: a subscriber causes an event, but replaces no method.
class SameCodeTest < Tiercel::TestCase
  # Runs in a separate process, because other tests leave subscribers and patches behind.
  PROGRAM = 'require "json"; puts JSON.generate(SameCode.replaced)'

  def setup = %w[segment codec].each { |name| needs_extension(name) }

  def test_a_listener_replaces_no_method
    command = [RbConfig.ruby, "-Ilib", "-Itest", "-rtiercel", "-rsupport/same_code", "-e", PROGRAM]
    out, err, status = Open3.capture3(*command, chdir: File.expand_path("../..", __dir__))
    assert status.success?, "#{out}#{err}"
    replaced = JSON.parse(out.lines.last)
    assert_empty replaced, replaced.map { |call, methods| "#{call}: #{methods.join(" ")}" }.join("\n")
  end
end
