# frozen_string_literal: true
# quick

require "test_helper"

class RegistryTest < Tiercel::TestCase
  def setup
    @registry = Tiercel::Registry.new("compressor")
  end

  def test_the_block_runs_once_when_the_name_is_first_asked_for
    runs = 0
    @registry.register(:squeeze) { runs += 1; Object.new }
    assert_equal 0, runs
    assert_same @registry.fetch(:squeeze), @registry.fetch("squeeze")
    assert_equal 1, runs
  end

  def test_a_name_that_nobody_registered
    @registry.register(:zlib) { :z }
    @registry.register(:lz4) { :l }
    error = assert_raises(Tiercel::ConfigurationError) { @registry.fetch(:gzip) }
    assert_equal "unknown compressor :gzip: expected one of lz4, zlib", error.message
  end

  def test_a_gem_that_is_not_installed
    @registry.register(:squeeze, gem: "brotli") { require "no_such_library_anywhere" }
    error = assert_raises(Tiercel::MissingDependency) { @registry.fetch(:squeeze) }
    assert_includes error.message, "compressor :squeeze needs the gem brotli"
    assert_includes error.message, %(gem "brotli", ">= 0.9")
    assert_kind_of LoadError, error.cause
  end

  def test_a_file_of_our_own_that_is_missing_is_no_missing_gem
    @registry.register(:squeeze) { require "no_such_library_anywhere" }
    assert_raises(LoadError) { @registry.fetch(:squeeze) }
  end

  def test_what_failed_is_tried_again
    installed = false
    @registry.register(:squeeze, gem: "brotli") { installed ? :there : require("no_such_library_anywhere") }
    refute @registry.available?(:squeeze)
    installed = true
    assert @registry.available?(:squeeze)
    assert_equal :there, @registry.fetch(:squeeze)
  end

  def test_a_name_can_be_registered_anew
    @registry.register(:zlib) { 1 }
    assert_equal 1, @registry.fetch(:zlib)
    @registry.register(:zlib) { 2 }
    assert_equal 2, @registry.fetch(:zlib)
  end

  def test_a_block_may_ask_for_another_name
    @registry.register(:outer) { [@registry.fetch(:inner)] }
    @registry.register(:inner) { :in }
    assert_equal [:in], @registry.fetch(:outer)
  end
end
