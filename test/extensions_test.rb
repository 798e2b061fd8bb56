# frozen_string_literal: true
# suites: kernel

require "test_helper"
require "open3"
require "rbconfig"

# A process that cannot load a C extension. test/packaging tests installations that fail.
class ExtensionsTest < Tiercel::TestCase
  LIB = File.expand_path("../lib", __dir__)

  # @return [String] the output of the code in a process whose LIBRARY is not one
  def without(library, code)
    with_tmpdir do |folder|
      FileUtils.mkdir_p("#{folder}/tiercel")
      File.write("#{folder}/tiercel/#{library}_ext.so", "not a library")
      Open3.capture2e(RbConfig.ruby, "-I#{folder}", "-I#{LIB}", "-e", code).first
    end
  end

  def test_without_the_codec_tiercel_is_not_loaded_and_says_what_to_do
    assert_match(/extension codec cannot be loaded: .*type: ruby \S+compile\.rb \(Tiercel::MissingDependency\)/,
                 without("codec", 'require "tiercel"'))
  end

  def test_without_the_segment_no_store_is_built_over_it
    %w[shared:a memory:].each do |url|
      assert_match(/extension segment cannot be loaded: .*compile\.rb \(Tiercel::MissingDependency\)/,
                   without("segment", "require 'tiercel'; Tiercel.new('#{url}')"))
    end
  end

  # The gem msgpack is no dependency.
  def test_plain_data_needs_no_gem
    code = 'require "tiercel"; store = Tiercel.new("memory:"); store.write("a", [1]); p store.read("a"),
            $LOADED_FEATURES.grep(%r{/msgpack})'
    assert_equal ["[1]\n[]\n", true], Open3.capture2(RbConfig.ruby, "-I#{LIB}", "-e", code).then { |out, status|
      [out, status.success?]
    }
  end

  def test_message_pack_without_its_gem
    frame = Tiercel.new("memory:", serializer: :message_pack).then do |store|
      store.write("a", [1])
      store.backend.get("a")
    end
    with_tmpdir do |folder|
      File.write("#{folder}/msgpack.rb", 'raise LoadError, "cannot load such file -- msgpack"')
      out, err, = Open3.capture3(RbConfig.ruby, "-I#{folder}", "-I#{LIB}", "-rtiercel", "-e", <<~RUBY)
        begin
          Tiercel.new("memory:", serializer: :message_pack)
        rescue Tiercel::MissingDependency => error
          puts error.message
        end
        store = Tiercel.new("memory:", error_handler: ->(exception:, **) { puts exception.class })
        store.backend.set("a", [#{frame.unpack1("H*").inspect}].pack("H*"))
        p store.read("a"), store.fetch("a") { 2 }
      RUBY
      assert_match(/\Aserializer :message_pack needs the gem msgpack .*: gem "msgpack", ">= 1\.7"\n/, out, err)
      assert_match(/nil\n2\n\z/, out, err)
    end
  end
end
