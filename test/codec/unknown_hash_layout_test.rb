# frozen_string_literal: true
# suites: kernel

require "test_helper"
require "fileutils"
require "open3"
require "rbconfig"

# Simulates a Ruby with an unknown memory layout of Hashes: a build whose check always fails. The codec disables
# itself, and everything works in Ruby, including the segment.
class CodecUnknownHashLayoutTest < Tiercel::TestCase
  ROOT = File.expand_path("../..", __dir__)
  FILES = %w[frame_test coder/round_trip_test serializers/auto_test leases_test backends/memory_test
             segment/segment_test store/tags_names_test].freeze

  def test_a_build_for_another_layout
    with_build do |folder|
      the_codec_switches_itself_off(folder)
      the_suite_passes_without_it(folder)
    end
  end

  private

  def the_codec_switches_itself_off(folder)
    output, errors, = ruby(folder, "-rtiercel", "-e", <<~'RUBY')
      store = Tiercel.new("memory:")
      store.write("a", { b: [1] })
      p Tiercel::Codec.native, store.read("a").keys, store.backend.class
    RUBY
    assert_equal "nil\n[:b]\nTiercel::Backends::MemorySegment\n", output
    assert_match(/\ATiercel: the C extension \(codec\) is missing.*: Ruby \S+ keeps Hashes in a way not known here/,
                 errors)
  end

  def the_suite_passes_without_it(folder)
    code = "ARGV.shift(ARGV.size).each { |name| require File.join(#{ROOT.inspect}, 'test', name) }"
    output, errors, status = ruby(folder, "-I#{ROOT}/test", "-e", code, *FILES)
    assert_predicate status, :success?, output + errors
    assert_match(/ 0 failures, 0 errors/, output)
    assert_operator output[/(\d+) runs/, 1].to_i, :>, 50
  end

  # @yieldparam folder [String] the folder for $LOAD_PATH
  def with_build
    with_tmpdir do |folder|
      [[RbConfig.ruby, "#{ROOT}/ext/tiercel/codec/extconf.rb"], %w[make --silent]].each do |command|
        output, status = Open3.capture2e({ "TIERCEL_UNKNOWN_HASH_LAYOUT" => "1" }, *command, chdir: folder)
        assert_predicate status, :success?, output
      end
      FileUtils.mkdir_p("#{folder}/tiercel")
      FileUtils.mv(Dir["#{folder}/codec_ext.*"].grep(/\.(so|bundle)\z/), "#{folder}/tiercel")
      yield folder
    end
  end

  def ruby(folder, *arguments)
    environment = { "TIERCEL_TEST_FILES" => nil, "TIERCEL_TEST_RECORD" => nil, "TIERCEL_TEST_CLAIMS" => nil }
    Open3.capture3(environment, RbConfig.ruby, "-I#{folder}", "-I#{ROOT}/lib", *arguments)
  end
end
