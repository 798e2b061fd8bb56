# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache/tiercel_store"

# Values, expiries and options of an uncontended miss, compared with a store without leases.
class FetchMissesTest < Tiercel::TestCase
  VALUES = ["text", "bytes".b, "ascii".encode("US-ASCII"), "latin \xE9".dup.force_encoding("ISO-8859-1"), "",
            "x" * 5_000, "broken \xFF", "frozen".freeze, :symbol, 1, { "a" => [1] }].freeze

  def test_values_come_back_as_without_leases
    each_store do |store, plain|
      VALUES.each_with_index do |value, index|
        got = [store, plain].map { |one| [one.fetch("v#{index}") { value }, one.read("v#{index}")] }

        assert_equal got.last, got.first
        assert_equal got.last.map { |read| facts(read) }, got.first.map { |read| facts(read) }
      end
    end
  end

  def test_a_string_with_instance_variables
    value = (+"text").tap { |string| string.instance_variable_set(:@a, 1) }
    each_store do |store, plain|
      found = [store, plain].map do |one|
        one.fetch("name") { value }
        one.read("name").instance_variable_get(:@a)
      end

      assert_equal found.last, found.first
    end
  end

  def test_ends_and_compression_are_the_stores
    [{ expires_in: 60 }, { expires_in: 60, jitter: 0.5 }, { compress: true, compress_threshold: 100 }].each do |options|
      each_store(**options) do |store, plain|
        [store, plain].each { |one| one.fetch("name") { "x" * 5_000 } }
        frames = [store, plain].map { |one| Tiercel::Frame.parse(one.backend.get("name")) }

        assert_equal frames.last.compressor, frames.first.compressor
        assert_equal frames.last.expires_at.nil?, frames.first.expires_at.nil?
        assert_in_delta frames.last.expires_at, frames.first.expires_at, 35 if frames.last.expires_at
      end
    end
  end

  # Most blocks set no options, so the options are copied only when a block sets one.
  def test_options_that_a_block_sets_are_its_own
    each_store do |store|
      before = store.options.dup
      { expires_in: 5, expires_at: Time.now + 5, version: "1", tags: ["tag"] }.each do |name, value|
        store.fetch("set #{name}") { |_, options| options.public_send(:"#{name}=", value) && "value" }

        assert_equal before, store.options
        frame = Tiercel::Frame.parse(store.backend.get("set #{name}"))

        assert_equal [name == :version, name == :tags, name.start_with?("expires")],
                     [!frame.parts.version.nil?, !frame.parts.tags.nil?, !frame.expires_at.nil?], name
      end
      store.fetch("unset") { |_, options| [options.expires_in, options.version, options.tags].inspect }

      assert_equal "[nil, nil, []]", store.read("unset")
    end
  end

  # A future Rails or another gem may add such options.
  def test_options_that_nobody_here_knows_are_copied_at_once
    rails = ActiveSupport::Cache::WriteOptions
    rails.define_method(:skip_nil=) { |value| @options[:skip_nil] = value }
    each_store do |store|
      store.fetch("name") { |_, options| (options.skip_nil = true) && nil }

      assert_nil store.options[:skip_nil]
      refute store.exist?("name")
    end
  ensure
    rails.remove_method(:skip_nil=)
  end

  # A write of the inner block under the same key counts as the outer block's write too.
  def test_a_block_within_another_one_of_the_same_key
    each_store do |store|
      assert_equal "outer", store.fetch("name") { store.fetch("name") { "inner" } && "outer" }
      assert_equal "outer", store.read("name")
      assert_equal "last", store.fetch("own") { store.write("own", "first") && "last" }
      assert_equal "last", store.read("own")
    end
  end

  def test_what_is_too_large_is_refused_and_reported
    errors = []
    store = Tiercel.new("memory:", size: "1MB", compress: false,
                                   error_handler: ->(exception:, **) { errors << exception })

    assert_equal 600_000, store.fetch("name") { "x" * 600_000 }.bytesize
    assert_equal [Tiercel::Refused], errors.map(&:class)
    assert_equal 600_000, store.fetch("name") { "y" * 600_000 }.bytesize
  end

  private

  def facts(value) = value.is_a?(String) ? [value.class, value.encoding, value.valid_encoding?] : value.class

  # Yields stores with and without leases.
  def each_store(**options)
    [[], [[:frozen, true]], [[:checksum, true]]].each do |more|
      both = [true, false].map { |lease| Tiercel.new("memory:", size: "4MB", lease:, **options, **more.to_h) }
      yield(*both)
    ensure
      both&.each(&:close)
    end
  end
end
