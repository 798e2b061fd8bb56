# frozen_string_literal: true
# suites: store

require "test_helper"
require "open3"
require "support/sanitized_extension"
require "rbconfig"

# The C form under AddressSanitizer and UndefinedBehaviorSanitizer, while
# mutated payloads are fed to it. Long tier: the extension is built for it.
class CodecSanitizerTest < Tiercel::TestCase
  include SanitizedExtension

  EXTCONF = File.expand_path("../../ext/tiercel/codec/extconf.rb", __dir__)
  MUTATIONS = File.expand_path("mutations.rb", __dir__)
  LIB = File.expand_path("../../lib", __dir__)
  SECONDS = 60
  # Ruby keeps what it knows for its own end, looks through its stack for objects, and has its own signal stacks.
  OPTIONS = "detect_leaks=0:detect_stack_use_after_return=0:use_sigaltstack=0"

  def test_mutated_payloads
    skip "long tier" unless long?
    library = sanitizer_library or skip "this machine's compiler has no AddressSanitizer"
    with_tmpdir do |dir|
      build_sanitized(EXTCONF, "codec_ext", dir)
      environment = { "LD_PRELOAD" => library, "ASAN_OPTIONS" => OPTIONS }
      output, status = Open3.capture2e(environment, RbConfig.ruby, "-I#{dir}", "-I#{LIB}", MUTATIONS, SECONDS.to_s, "1")

      assert_predicate status, :success?, output
      assert_operator output[/^(\d+) graphs/, 1].to_i, :>, 1_000, output
    end
  end
end
