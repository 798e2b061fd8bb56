# frozen_string_literal: true
# suites: kernel
# quick

require "test_helper"
require "active_support/cache/tiercel_store"

# Boots with SECRET_KEY_BASE_DUMMY, without production's environment variables and volumes.
class AssetBuildTest < Tiercel::TestCase
  def teardown
    ENV.delete("SECRET_KEY_BASE_DUMMY")
    super
  end

  def test_an_image_build_has_every_cache_in_memory
    ENV["SECRET_KEY_BASE_DUMMY"] = "1"
    [[nil], [""], ["shared:", nil], ["memcached://"], ["redis://cache"], ["shared:/missing/segment"]].each do |urls|
      built = Tiercel.new(*urls, pool: { size: 3 }, namespace: "n", expires_in: 60)
      assert_match(/\Amemory:/, built.backend.to_s)
      assert_equal "n", built.options[:namespace]
      assert_equal 1, built.fetch("a") { 1 }
    end
  end
end
