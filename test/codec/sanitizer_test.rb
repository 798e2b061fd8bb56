# frozen_string_literal: true
# suites: store

require "test_helper"
require "open3"
require "support/sanitized_extension"
require "rbconfig"

# Runs the C form under AddressSanitizer and UndefinedBehaviorSanitizer with mutated payloads and hostile names.
# Part of the long tier, because it compiles the extension.
class CodecSanitizerTest < Tiercel::TestCase
  include SanitizedExtension

  EXTCONF = File.expand_path("../../ext/tiercel/codec/extconf.rb", __dir__)
  LIB = File.expand_path("../../lib", __dir__)
  SECONDS = 60
  # Ruby leaves memory allocated at exit, scans its stack for objects, and has its own signal stacks.
  OPTIONS = "detect_leaks=0:detect_stack_use_after_return=0:use_sigaltstack=0"

  # For each script, the count that it prints and its minimum.
  FEEDS = { "mutations.rb" => [/^(\d+) graphs/, 1_000], "hostile_names.rb" => [/^(\d+) names/, 5_000] }.freeze

  def test_mutated_payloads_and_hostile_names
    skip "long tier" unless long?
    library = sanitizer_library or skip "this machine's compiler has no AddressSanitizer"
    with_tmpdir do |dir|
      build_sanitized(EXTCONF, "codec_ext", dir)
      environment = { "LD_PRELOAD" => library, "ASAN_OPTIONS" => OPTIONS }
      FEEDS.each do |script, (figure, least)|
        output, status = Open3.capture2e(environment, RbConfig.ruby, "-I#{dir}", "-I#{LIB}",
                                         File.expand_path(script, __dir__), SECONDS.to_s, "1")

        assert_predicate status, :success?, output
        assert_operator output[figure, 1].to_i, :>, least, output
      end
    end
  end
end
