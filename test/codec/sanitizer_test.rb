# frozen_string_literal: true
# suites: store

require "test_helper"
require "open3"
require "support/sanitized_extension"
require "rbconfig"

# Runs the C form under AddressSanitizer and UndefinedBehaviorSanitizer with mutated payloads.
# Part of the long tier, because it compiles the extension.
class CodecSanitizerTest < Tiercel::TestCase
  include SanitizedExtension

  EXTCONF = File.expand_path("../../ext/tiercel/codec/extconf.rb", __dir__)
  LIB = File.expand_path("../../lib", __dir__)
  SECONDS = 60
  # Ruby leaves memory allocated at exit, scans its stack for objects, and has its own signal stacks.
  OPTIONS = "detect_leaks=0:detect_stack_use_after_return=0:use_sigaltstack=0"

  def test_mutated_payloads
    skip "long tier" unless long?
    library = sanitizer_library or skip "this machine's compiler has no AddressSanitizer"
    with_tmpdir do |dir|
      build_sanitized(EXTCONF, "codec_ext", dir)
      environment = { "LD_PRELOAD" => library, "ASAN_OPTIONS" => OPTIONS }
      output, status = Open3.capture2e(environment, RbConfig.ruby, "-I#{dir}", "-I#{LIB}",
                                       File.expand_path("mutations.rb", __dir__), SECONDS.to_s, "1")
      assert_predicate status, :success?, output
      assert_operator output[/^(\d+) graphs/, 1].to_i, :>, 1_000, output
    end
  end
end
