# frozen_string_literal: true
# suites: kernel
# quick

require "test_helper"
require "active_support/cache/tiercel_store"

# Boots with SECRET_KEY_BASE_DUMMY, without production's environment variables.
class AssetBuildTest < Tiercel::TestCase
  def setup
    super
    ENV["SECRET_KEY_BASE_DUMMY"] = "1"
  end

  def teardown
    ENV.delete("SECRET_KEY_BASE_DUMMY")
    super
  end

  def store(*urls, **options) = Tiercel.new(*urls, **options)

  def test_a_url_that_is_missing_requires_no_variable
    [[nil], [""], ["shared:", nil], ["memcached://"], ["redis+cluster://"]].each do |urls|
      built = store(*urls, pool: { size: 3 }, namespace: "n", expires_in: 60)
      assert_match(/\Amemory:/, built.backend.to_s)
      assert_equal "n", built.options[:namespace]
      assert_equal 1, built.fetch("a") { 1 }
    end
  end

  def test_other_mistakes_are_still_mistakes
    assert_raises(Tiercel::ConfigurationError) { store("nonsense") }
    assert_raises(Tiercel::ConfigurationError) { store({ url: "redis://a" }) }
    assert_raises(Tiercel::ConfigurationError) { store("memory:", pool: { size: 3 }) }
  end

  def test_outside_of_such_a_build_a_missing_url_is_a_mistake
    ENV.delete("SECRET_KEY_BASE_DUMMY")
    error = assert_raises(Tiercel::ConfigurationError) { store(nil) }
    assert_includes error.message, "is an environment variable not set?"
  end
end
