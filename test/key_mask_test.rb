# frozen_string_literal: true
# suites: kernel
# quick

require "test_helper"
require "tiercel/errors"
require "logger"
require "stringio"

class KeyMaskTest < Tiercel::TestCase
  def test_only_the_path_of_a_template_is_shown
    assert_equal "views/products/show:*",
                 Tiercel::KeyMask.of("views/products/show:9a0364b9e99bb480dd25e1f0284c8555/products/7")
    assert_equal "views/a/b:*", Tiercel::KeyMask.of("app:views/a/b:9a0364b9e99bb480dd25e1f0284c8555/alice")
    ["user:alice@example.com", "secret", "\xff\n\e[31m/\x00".b, "a/" * 400, "", "views/\xff:#{"0" * 32}"].each do |key|
      assert_equal "*", Tiercel::KeyMask.of(key)
    end
  end

  def test_messages_reports_and_log_lines_do_not_show_a_key_unless_asked
    { false => false, true => true }.each do |log_keys, shown|
      output = StringIO.new
      guard = Tiercel::Guard.new(Tiercel::Backend.new, logger: -> { Logger.new(output) }, log_keys:)
      report, = capture_reports do
        guard.call(:read_entry, "user:alice@example.com") do
          raise Tiercel::Unavailable.new("is down", backend: "b", key: "user:alice@example.com")
        end
      end
      refute_includes report.error.message, "alice"
      assert_equal "user:alice@example.com", report.error.key
      assert_equal shown, report.context.inspect.include?("alice")
      assert_equal shown, output.string.include?("alice")
    end
    error = assert_raises(Tiercel::NotACounter) { Tiercel::Counter.add("x", 1, "user:alice") }
    refute_includes error.message, "alice"
  end
end
