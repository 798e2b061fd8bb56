# frozen_string_literal: true

require "test_helper"
require "tiercel/segment"
require_relative "../support/memory_stub"
require_relative "../support/rails_stub"

class SegmentPlaceTest < Tiercel::TestCase
  include MemoryStub
  include RailsStub

  Place = Tiercel::Segment::Place

  def test_a_path_is_taken_as_it_is
    assert_equal "/somewhere/segment", Place.new("/somewhere/segment").path
    assert_equal File.expand_path("./segment"), Place.new("./segment").path
  end

  def test_a_name_goes_to_shared_memory
    with_tmpdir do |directory|
      path = Place.new("my_app", directory: directory).path
      assert_equal File.join(directory, "tiercel-my_app-#{Process.euid}.v3"), path
    end
  end

  def test_a_system_without_shared_memory_has_its_segments_in_the_temporary_directory
    skip "this build has it" if Place::SHARED_MEMORY
    assert_equal Dir.tmpdir, Place.directory
  end

  def test_without_rails_a_name_is_needed
    assert_match(/needs a name outside a Rails application/,
                 assert_raises(Tiercel::ConfigurationError) { Place.new("") }.message)
  end

  def test_names_are_file_names
    ["-x", ".hidden", "with space", "a\nb", "x" * 200].each do |name|
      assert_raises(Tiercel::ConfigurationError, name) { Place.new(name) }
    end
  end

  def test_in_rails_the_name_differs_by_application_environment_and_secret_and_not_by_release
    paths = [%w[one production], %w[two production], %w[one staging]].map do |secret, environment|
      in_rails(secret, environment) { Place.new("", directory: Dir.tmpdir).path }
    end
    assert_equal 3, paths.uniq.size
    assert_match(%r{/tiercel-my_shop-production-#{Process.euid}-\h{8}\.v3\z}, paths.first)
    assert_equal paths.first, in_rails("one", "production") { Place.new("", directory: Dir.tmpdir).path }
    named = in_rails("one", "production") { Place.new("jobs", directory: Dir.tmpdir).path }
    assert_match(%r{/tiercel-jobs-production-}, named)
    paths.each { |path| refute_includes path, "one-" }
  end

  def test_the_default_size_is_bounded_by_what_is_free
    with_tmpdir do |directory|
      bytes = Place.new("#{directory}/segment").default_bytes
      assert_operator bytes, :<=, Place::DEFAULT_BYTES
      assert_operator bytes, :>=, Place::LEAST_DEFAULT_BYTES
      with_free(directory, 64 << 20) { assert_equal 32 << 20, Place.new("#{directory}/segment").default_bytes }
    end
    assert_match(/No such file/,
                 assert_raises(Tiercel::ConfigurationError) { Place.new("/nonexistent/x").default_bytes }.message)
  end

  def test_the_default_size_is_an_eighth_of_the_memory_at_most
    with_memory(1 << 30) { assert_equal 128 << 20, Place.new("app").wanted_bytes }
    with_memory(32 << 20) { assert_equal Place::LEAST_DEFAULT_BYTES, Place.new("app").wanted_bytes }
    with_memory(1 << 40) { assert_equal Place::DEFAULT_BYTES, Place.new("app").wanted_bytes }
    with_memory(nil) { assert_equal Place::DEFAULT_BYTES, Place.new("app").wanted_bytes }
  end

  # Trying a configuration, or starting a server locally, needs little memory.
  def test_the_default_size_is_small_in_development_and_test
    with_tmpdir do |dir|
      sizes = %w[development test staging production].to_h do |environment|
        place = in_rails("secret", environment) { Place.new("", directory: dir) }
        [environment, in_rails("secret", environment) { place.wanted_bytes }]
      end
      assert_equal [32 << 20, 32 << 20], sizes.values.first(2)
      assert_equal 1, sizes.values.last(2).uniq.size
      assert_operator sizes["production"], :>, 32 << 20
    end
  end
end
