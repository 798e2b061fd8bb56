# frozen_string_literal: true
# suites: store

require "test_helper"
require "open3"
require "support/sanitized_extension"
require "rbconfig"

# Runs the segment's own tests with an extension built with AddressSanitizer and UndefinedBehaviorSanitizer. Part of
# the long tier.
class SegmentSanitizerTest < Tiercel::TestCase
  include SanitizedExtension

  ROOT = File.expand_path("../..", __dir__)
  EXTCONF = File.join(ROOT, "ext/tiercel/segment/extconf.rb")
  TESTS = %w[segment/segment segment/file_life segment/file_refusals segment/damage segment/midst_of_a_call
             segment/waiting segment/slots segment/tags segment/memo segment/memo_bounds
             leases/segment backends/shared tiers/near tiers/near_copies
             tiers/coverage].map { |name| "test/#{name}_test.rb" }.freeze

  def test_the_binding
    skip "long tier" unless long?
    library = sanitizer_library or skip "this machine's compiler has no AddressSanitizer"
    with_tmpdir do |dir|
      build_sanitized(EXTCONF, "segment_ext", dir)
      TESTS.each do |test|
        output, status = Open3.capture2e(environment(library), RbConfig.ruby, "-I#{dir}", "-I#{ROOT}/lib",
                                         "-I#{ROOT}/test", File.join(ROOT, test))
        assert_predicate status, :success?, output
        refute_match(/AddressSanitizer|runtime error/, output)
      end
    end
  end

  private

  def environment(library)
    { "LD_PRELOAD" => library, "ASAN_OPTIONS" => "detect_leaks=0:detect_stack_use_after_return=0:use_sigaltstack=0",
      "TIERCEL_LONG" => nil }
  end
end
