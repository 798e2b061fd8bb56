# frozen_string_literal: true

require "test_helper"
require "open3"
require "rubygems/package"
require_relative "../support/committed_files"
require_relative "../support/installed_gem"
require_relative "../support/rails_app"

# An installation never fails, whatever the machine lacks: the gem is installed into an empty GEM_HOME, and then
# everything works in Ruby.
class NeverFailsTest < Tiercel::TestCase
  # Files of the store suite for the short tier. --long runs every file that needs no segment.
  SHORT = %w[frame_test serializers/plain_test coder/round_trip_test backends/memory_lru_test backends/memory_test
             leases_test store/too_large_test].freeze

  def test_without_compiler_and_make
    InstalledGem.open(path: "/nonexistent") do |gem|
      assert_match(/\Acodec and segment: The compiler failed to generate an executable file$/, gem.failure.lines.first)
      assert_everything_works_in_ruby(gem)
      works_in_a_rails_application(gem)
    end
  end

  def test_with_an_error_in_the_source
    InstalledGem.open(plant: { "ext/tiercel/codec/codec.c" => "int planted = ;\n",
                               "ext/tiercel/segment/segment_ext.c" => "int planted = ;\n" }) do |gem|
      assert_match(/\Acodec and segment: .*codec\.c:\d+:\d+: error: expected expression/, gem.failure.lines.first)
      assert_includes gem.failure, "segment_ext.c"
      assert_everything_works_in_ruby(gem)
    end
  end

  def test_one_extension_is_built_where_the_other_one_fails
    InstalledGem.open(plant: { "ext/tiercel/segment/segment_ext.c" => "int planted = ;\n" }) do |gem|
      assert_match(/\Asegment: /, gem.failure)
      assert_equal "true\n", gem.ruby('require "tiercel"; puts !Tiercel::Codec.native.nil?').out
    end
  end

  private

  def assert_everything_works_in_ruby(gem)
    refute_predicate gem, :compiled?
    says_the_reason_once(gem)
    decides_by_environment(gem)
    runs_the_suite(gem)
  end

  def says_the_reason_once(gem)
    code = 'require "tiercel"; 2.times { p Tiercel.new("memory:").fetch("a") { 1 } }'
    first, second = Array.new(2) { gem.ruby(code) }
    assert_equal ["1\n1\n"] * 2, [first.out, second.out]
    assert_equal 1, first.err.lines.size, first.err
    assert_match(/\ATiercel: .*codec, segment.*the build failed: codec and segment: .*build_failure\.txt/, first.err)
    assert_empty second.err
  end

  SHARED = 'require "tiercel"; store = Tiercel.new(*ARGV); store.write("a", [1]); p store.read("a")'

  def decides_by_environment(gem)
    %w[development test].each do |environment|
      ran = gem.ruby(SHARED, "shared:app", env: { "RAILS_ENV" => environment })
      assert_equal ["[1]\n", 1], [ran.out, ran.err.lines.size], ran.err
      assert_match(/\ATiercel: .*shared:app is memory: here.*the build failed/, ran.err)
      ran = gem.ruby(SHARED, "shared:app?on_unavailable=raise", env: { "RAILS_ENV" => environment })
      assert_match(/the build failed: codec and segment.*\(Tiercel::MissingDependency\)/, ran.err)
    end
    ran = gem.ruby(SHARED, "shared:app", env: { "RAILS_ENV" => "production" })
    refute ran.ok?
    assert_match(/shared:app needs Tiercel's C extension.*the build failed: .*MissingDependency/, ran.err)
    ran = gem.ruby(SHARED, "shared:app?on_unavailable=miss", env: { "RAILS_ENV" => "production" })
    assert_equal ["nil\n", 1], [ran.out, ran.err.lines.size], ran.err
  end

  BOOT = "p Rails.cache.fetch('a') { 1 }, Rails.cache.read('a'), Rails.cache.backend.class"

  def works_in_a_rails_application(gem)
    RailsApp.open do |app|
      app.cache_store = ":tiercel_store"
      env = gem.bundle_environment(app.environment.fetch("BUNDLE_GEMFILE"))
      ran = app.runner(BOOT, env: { **env, "RAILS_ENV" => "development" })
      assert_equal "1\n1\nTiercel::Backends::MemoryLRU\n", ran.out, ran.to_s
      assert_match(/\ATiercel: without the C extension shared: is memory: here.*the build failed: .*\n\z/, ran.err)
      ran = app.runner(BOOT, env:)
      refute ran.ok?
      assert_match(/shared: needs Tiercel's C extension.*the build failed: /, ran.err)
    end
  end

  def runs_the_suite(gem)
    files = long? ? gem.files_without_segment : SHORT.map { |name| "test/#{name}.rb" }
    slices = files.each_slice(40).map { |slice| gem.run_tests(slice) }
    assert_empty slices.reject(&:ok?).map(&:to_s)
    slices.each { |ran| assert_match(/ 0 failures, 0 errors/, ran.out) }
    assert_operator slices.sum { |ran| ran.out[/(\d+) runs/, 1].to_i }, :>, files.size
  end
end
