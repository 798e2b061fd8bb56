# frozen_string_literal: true
# suites: kernel

require "test_helper"
require "open3"
require "rbconfig"

# Stores in a process without the C extension. test/packaging tests installations without it.
class ExtensionsTest < Tiercel::TestCase
  LIB = File.expand_path("../lib", __dir__)

  # @return [Array(String, String)] the output of the code, and its warnings
  def pure_ruby(code, **env)
    env = { "TIERCEL_PURE_RUBY" => "1", "RAILS_ENV" => nil, "RACK_ENV" => nil, **env.transform_keys(&:to_s) }
    out, err, = Open3.capture3(env, RbConfig.ruby, "-I#{LIB}", "-rtiercel", "-e", code)
    [out, err]
  end

  def test_shared_is_memory_in_development_and_test_with_one_warning
    code = 'stores = %w[shared:a shared:b].map { |url| Tiercel.new(url, size: "2MB") }
            stores.each { |store| p store.fetch("a") { 1 }, store.backend.stats[:size] }'
    %w[development test].each do |environment|
      out, err = pure_ruby(code, RAILS_ENV: environment)
      assert_equal ["1\n#{2 << 20}\n" * 2, 1], [out, err.lines.size], err
    end
    assert_match(/\ATiercel: without the C extension shared:a is memory: here/, pure_ruby(code, RACK_ENV: "test").last)
  end

  def test_on_unavailable_decides
    miss = 'p Tiercel.new("shared:a", on_unavailable: :miss).fetch("a") { 1 }'
    assert_equal "1\n", pure_ruby(miss, RAILS_ENV: "production").first
    raises = 'Tiercel.new("shared:a", on_unavailable: :raise)'
    assert_match(/shared:a needs Tiercel's C extension/, pure_ruby(raises, RAILS_ENV: "test").last)
    wrong = 'Tiercel.new("shared:a", on_unavailable: :often)'
    assert_match(/on_unavailable: expected :miss or :raise, got :often/, pure_ruby(wrong, RAILS_ENV: "test").last)
    [{ RAILS_ENV: "production" }, {}].each do |env|
      assert_match(/shared:a needs.*MissingDependency/, pure_ruby('Tiercel.new("shared:a")', **env).last)
    end
  end

  def test_an_asset_build_needs_no_segment
    env = { RAILS_ENV: "production", SECRET_KEY_BASE_DUMMY: "1" }
    assert_equal ["1\n", ""], pure_ruby('p Tiercel.new("shared:a").fetch("a") { 1 }', **env)
  end

  def test_a_near_tier_is_left_out
    Dir.mktmpdir do |folder|
      code = "store = Tiercel.new('shared:', 'file:#{folder}'); store.write('a', 1); " \
             "p store.read('a'), store.backend.to_s"
      out, err = pure_ruby(code, RAILS_ENV: "development")
      assert_equal "1\n\"file:#{folder}\"\n", out
      assert_match(/\ATiercel: .* shared: is not used, and every read goes to the next tier/, err)
      assert_match(/shared: as a near tier needs.*MissingDependency/, pure_ruby(code, RAILS_ENV: "production").last)
      code = code.sub("'shared:'", "'shared:?on_unavailable=miss'")
      assert_equal out, pure_ruby(code, RAILS_ENV: "production").first
    end
  end

  def test_both_forms_of_shared_know_the_same_options
    needs_extension "segment"
    require "tiercel/backends/shared"
    require "tiercel/backends/shared_missing"
    assert_equal Tiercel::Backends::Shared.option_names, Tiercel::Backends::SharedMissing.option_names
  end

  # The gem msgpack needs a compiler too.
  def test_no_gem_that_needs_a_compiler_is_loaded
    code = 'store = Tiercel.new("memory:"); store.write("a", [{ b: "é" }]); p store.read("a"),
            $LOADED_FEATURES.grep(%r{/msgpack})'
    [nil, "1"].each do |switch|
      out, = pure_ruby("def p(*all) = puts(all.map { |one| one.inspect.gsub(/\\bb: /, ':b=>') })\n#{code}",
                       TIERCEL_PURE_RUBY: switch)
      assert_equal "[{:b=>\"é\"}]\n[]\n", out
    end
  end

  def test_message_pack_without_its_gem
    Dir.mktmpdir do |folder|
      File.write("#{folder}/msgpack.rb", 'raise LoadError, "cannot load such file -- msgpack"')
      frame = Tiercel.new("memory:", serializer: :message_pack).then do |store|
        store.write("a", [1])
        store.backend.get("a")
      end
      out, err = pure_ruby(<<~RUBY)
        $LOAD_PATH.unshift(#{folder.inspect})
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

  def test_what_needs_the_segment_says_so
    assert_match(/needs Tiercel's C extension.*MissingDependency/, pure_ruby('require "tiercel/segment/report"').last)
  end
end
