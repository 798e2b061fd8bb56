# frozen_string_literal: true

# suites: store

require "test_helper"
require "open3"
require "rbconfig"
require_relative "../../ext/compilation"

# The portable build: the segment with only POSIX and C11, as on systems other than Linux. The tests of the segment,
# the leases and the tiers run with it; test/native has the C suites.
class SegmentPortableTest < Tiercel::TestCase
  TOGETHER = true # a compilation, and five other files
  ROOT = File.expand_path("../..", __dir__)
  TESTS = %w[segment/segment segment/file_life segment/registration leases/segment tiers/near].freeze
  LONG_TESTS = %w[segment/file_refusals segment/waiting segment/slots segment/daemons segment/processes segment/opening
                  segment/damage segment/midst_of_a_call segment/place segment/report segment/absent segment/orphans
                  segment/tags segment/memo backends/shared
                  tiers/near_copies tiers/coverage store/fetch_contract store/tags_contract tiers/backend_contract
                  tiers/store_contract tiers/fetch_contract].freeze
  # Tests of features that the portable build lacks, and the replacements in that build.
  LACKING = {
    "test_other_code_that_opens_and_closes_the_lock_file" => "record locks, which are locked again once a second",
    "test_record_locks_of_a_former_version" => "the same locks as a former version",
    "test_a_copy_on_write_file_system_is_refused" =>
      "nothing: POSIX does not name file systems (adr/018)",
  }.freeze

  def test_the_portable_build
    compile(dir)
    assert_equal "[true, nil]\n", run_ruby(dir, "-rtiercel/segment", "-e",
                                           "p [Tiercel::Segment::PORTABLE, Tiercel::Segment::Place::SHARED_MEMORY]")
    # Not -e: with Rails' plugin for Minitest it names an environment.
    *more, last = [*TESTS, *(LONG_TESTS if long?)].map { |name| File.join(ROOT, "test/#{name}_test.rb") }
    run_ruby(dir, *more.map { |file| "-r#{file}" }, last, "--exclude", "/\\A(#{LACKING.keys.join("|")})\\z/")
  end

  private

  def compile(dir)
    ENV["TIERCEL_PORTABLE"] = "1"
    Compilation.new(File.join(ROOT, "ext/tiercel/segment")).into("#{dir}/tiercel")
  ensure
    ENV.delete("TIERCEL_PORTABLE")
  end

  # @return [String] the output
  def run_ruby(dir, *arguments)
    output, status = Open3.capture2e({ "TIERCEL_LONG" => nil }, RbConfig.ruby, "-I#{dir}", "-I#{ROOT}/lib",
                                     "-I#{ROOT}/test", *arguments)
    assert_predicate status, :success?, output
    output
  end
end
