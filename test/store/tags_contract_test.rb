# frozen_string_literal: true
# suites: store*

require "test_helper"
require "tiercel/contracts/tags_contract"
require "tmpdir"
$LOAD_PATH.push(File.expand_path("../../tiercel-lab/lib", __dir__))
require "tiercel/lab/servers"

# What tags keep: over every backend, on the fast path and through Rails' methods.
module TagsContractTests
  module Servers
    def self.memcached = @memcached ||= Tiercel::Lab::Servers::Memcached.new.start
    def self.redis = @redis ||= Tiercel::Lab::Servers::Redis.new.start
  end

  # Longer than the usual budget, on a machine that is busy with other tests (seconds).
  PATIENCE = { timeout: 5 }.freeze
  WITH_TIMEOUT = %i[sqlite file memcached redis tiers].freeze

  PLACES = {
    memory: ->(_) { "memory:" },
    shared: ->(dir) { "shared:#{dir}/segment?size=16MB" },
    sqlite: ->(dir) { "sqlite:#{dir}/cache.sqlite3" },
    file: ->(dir) { "file:#{dir}/cache" },
    memcached: ->(_) { Servers.memcached.url },
    redis: ->(_) { Servers.redis.url },
    tiers: ->(dir) { ["shared:#{dir}/near?size=16MB", Servers.redis.url] },
  }.freeze

  module Place
    include Tiercel::Contracts::TagsContract

    def setup
      super
      @dir = Dir.mktmpdir("tiercel-tags-")
      store.backend.clear unless place == :memory
    end

    def after_teardown
      super
      FileUtils.remove_entry(@dir)
    end

    # All of one test share their data; private memory is what one backend has.
    def build_store(**options)
      patience = WITH_TIMEOUT.include?(place) ? PATIENCE : {}
      built = ActiveSupport::Cache::TiercelStore.new(*PLACES.fetch(place).call(@dir), **patience, **way, **options)
      return built unless place == :memory
      @memory ||= built.backend
      built.tap { |store| share(store, @memory) }
    end

    def across_processes? = place != :memory

    def churn_seconds = long? ? 60 : 1.0

    private

    def share(store, backend)
      store.backend.equal?(backend) || skip("memory: is of one store")
    end
  end

  # What differs between the Rails lines has nothing to do with the backend.
  on_this_line = ActiveSupport.version >= Gem::Version.new("8.1") ? PLACES.keys : %i[sqlite]
  on_this_line.each do |place|
    { "Fast" => {}, "Plain" => { fast_path: false } }.each do |label, way|
      test_class = Class.new(Tiercel::TestCase) do
        include Place
        define_method(:place) { place }
        define_method(:way) { way }
      end
      const_set("#{place.capitalize}#{label}Test", test_class)
    end
  end
end
