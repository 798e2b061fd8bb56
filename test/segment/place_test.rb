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
    path = Place.new("my_app", shared_memory: dir).path
    assert_equal File.join(dir, "tiercel-my_app-#{Process.euid}.v3"), path
  end

  def test_without_shared_memory_it_goes_to_the_temporary_directory
    assert_equal Dir.tmpdir, File.dirname(Place.new("my_app", shared_memory: "/nonexistent").path)
  end

  def test_what_is_there_counts_and_in_shared_memory_first
    with_tmpdir do |second|
      place = Place.new("my_app", shared_memory: dir, temporary: second)
      assert_equal [dir, second], place.paths.map { |path| File.dirname(path) }
      assert_equal place.paths.first, place.path
      File.write(place.paths.last, "")
      assert_equal place.paths.last, place.path
      File.write(place.paths.first, "")
      assert_equal place.paths.first, place.path
    end
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

  # Includes near segments: those of other secrets, and for a near tier also those in front of other farther tiers.
  def test_what_an_application_has_left_behind
    places = [nil, "redis://a", "redis://b"]
    paths = %w[old new].to_h do |secret|
      [secret, places.map { |behind| place_in(dir, secret, behind) { |place| place.paths.first } }]
    end
    FileUtils.touch([*paths.values.flatten, "#{dir}/tiercel-other-near-01234567-production-0-01234567.v3"])
    assert_equal paths["old"].sort, place_in(dir, "new", nil, &:siblings).sort
    assert_equal [*paths["old"].drop(1), paths["new"].last].sort, place_in(dir, "new", "redis://a", &:siblings).sort
  end

  def place_in(dir, secret, behind)
    in_rails(secret) { yield Place.new("", shared_memory: dir, temporary: nil, behind: behind) }
  end

  def test_in_rails_the_name_differs_by_application_environment_and_secret_and_not_by_release
    paths = [%w[one production], %w[two production], %w[one staging]].map do |secret, environment|
      in_rails(secret, environment) { Place.new("", shared_memory: Dir.tmpdir).path }
    end
    assert_equal 3, paths.uniq.size
    assert_match(%r{/tiercel-my_shop-production-#{Process.euid}-\h{8}\.v3\z}, paths.first)
    assert_equal paths.first, in_rails("one", "production") { Place.new("", shared_memory: Dir.tmpdir).path }
    named = in_rails("one", "production") { Place.new("jobs", shared_memory: Dir.tmpdir).path }
    assert_match(%r{/tiercel-jobs-production-}, named)
    paths.each { |path| refute_includes path, "one-" }
  end

  def test_the_default_size_is_bounded_by_what_is_free
    with_tmpdir do |directory|
      bytes = Place.new("#{directory}/segment").default_bytes
      assert_operator bytes, :<=, Place::DEFAULT_BYTES
      assert_operator bytes, :>=, Place::LEAST_DEFAULT_BYTES
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
    sizes = %w[development test staging production].to_h do |environment|
      place = in_rails("secret", environment) { Place.new("", shared_memory: dir, temporary: nil) }
      [environment, in_rails("secret", environment) { place.wanted_bytes }]
    end
    assert_equal [32 << 20, 32 << 20], sizes.values.first(2)
    assert_equal 1, sizes.values.last(2).uniq.size
    assert_operator sizes["production"], :>, 32 << 20
  end

  # A near tier's segment in addition to that of Rails.cache.
  def test_the_segments_of_an_application_share_the_eighth
    with_memory(1 << 30) do
      File.open(place_in(dir, "one", "redis://a") { |place| place.paths.first }, "w") { |f| f.truncate(50 << 20) }
      File.open(place_in(dir, "other", nil) { |place| place.paths.first }, "w") { |file| file.truncate(50 << 20) }
      assert_equal 78 << 20, place_in(dir, "one", nil, &:wanted_bytes)
      if Process.euid.zero? # another user's file does not count
        File.open(foreign = place_in(dir, "one", "redis://c") { |place| place.paths.first }, "w") do |file|
          file.truncate(1 << 30)
          file.chown(12_345, nil)
        end
        assert_equal 78 << 20, place_in(dir, "one", nil, &:wanted_bytes)
        File.unlink(foreign)
      end
      assert_equal 128 << 20, place_in(dir, "one", "redis://a", &:wanted_bytes)
    end
  end
end
