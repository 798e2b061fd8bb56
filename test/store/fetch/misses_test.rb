# frozen_string_literal: true
# suites: store

require "test_helper"
require "active_support/cache/tiercel_store"

# Values, expiries and options of an uncontended miss, compared with a store without leases.
class FetchMissesTest < Tiercel::TestCase
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

  private

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
