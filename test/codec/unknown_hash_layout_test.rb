# frozen_string_literal: true
# suites: kernel

require "test_helper"
require "fileutils"
require "open3"
require "rbconfig"
require_relative "../support/unoptimized"

# Simulates a Ruby with an unknown memory layout of Hashes: a build whose check always fails. A process that reads
# Hashes in a wrong way would be worse than one that does not boot.
class CodecUnknownHashLayoutTest < Tiercel::TestCase
  ROOT = File.expand_path("../..", __dir__)
  def test_a_build_for_another_layout
    with_build do |folder|
      output, status = ruby(folder, "-rtiercel", "-e", "")
      refute_predicate status, :success?
      assert_match(/extension codec cannot be loaded: Ruby \S+ keeps Hashes in a way not known here\. A later release/,
                   output)
    end
  end

  private

  # @yieldparam folder [String] the folder for $LOAD_PATH
  def with_build
    with_tmpdir do |folder|
      [[RbConfig.ruby, "#{ROOT}/ext/tiercel/codec/extconf.rb"], %w[make --silent]].each do |command|
        output, status = Open3.capture2e({ "TIERCEL_UNKNOWN_HASH_LAYOUT" => "1", **UNOPTIMIZED }, *command,
                                        chdir: folder)
        assert_predicate status, :success?, output
      end
      FileUtils.mkdir_p("#{folder}/tiercel")
      FileUtils.mv(Dir["#{folder}/codec_ext.*"].grep(/\.(so|bundle)\z/), "#{folder}/tiercel")
      yield folder
    end
  end

  def ruby(folder, *arguments)
    environment = { "TIERCEL_TEST_FILES" => nil, "TIERCEL_TEST_RECORD" => nil, "TIERCEL_TEST_CLAIMS" => nil }
    Open3.capture2e(environment, RbConfig.ruby, "-I#{folder}", "-I#{ROOT}/lib", *arguments)
  end
end
