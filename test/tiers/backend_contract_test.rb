# frozen_string_literal: true
# suites: store

require "test_helper"
require "contracts/backend_contract"
require "tiercel/lab/servers"

# Tiers pass the contract of every backend.
module TiersBackendContractTests
  # Stacks of a class' URLs, with one folder per test.
  module Stack
    include Tiercel::Contracts::BackendContract

    def build_backend = Tiercel::Places.new(urls).build({})
    def build_peer = build_backend
    def shared = "shared:#{dir}/segment?size=16MB&ttl=0.5"
    def sqlite = "sqlite:#{dir}/cache.sqlite3?timeout=20"
  end

  class SharedAndSQLiteTest < Tiercel::TestCase
    include Stack
    def urls = [shared, sqlite]

    # The copy's own end may be later.
    def test_a_touch_leaves_no_near_copy
      backend.set("key", Tiercel::Frame.build(Tiercel::Frame::Layout::TYPE_STRING_UTF_8, "text"))
      refute_nil backend.near.get("key")
      assert backend.touch("key", 60)
      assert_nil backend.near.get("key")
    end
  end

  class MemoryAndRedisTest < Tiercel::TestCase
    include Stack

    def versions? = false

    def self.server = @server ||= Tiercel::Lab::Servers::Redis.new.start

    def setup
      super
      backend.clear
    end

    def urls = ["memory:", "#{self.class.server.url}?timeout=5"]
  end
end
