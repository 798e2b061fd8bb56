# frozen_string_literal: true

require "tmpdir"
require_relative "remote_support"

# Tiers: with a server, on one machine, and with three tiers.
class TiersBehavioursTestCase < RailsBehaviours::TestCase
  def setup
    @directory = Dir.mktmpdir("tiercel-behaviours-")
    super
    @cache.clear
  end

  def teardown
    [@cache, @peek].each { |store| store.close if store.respond_to?(:close) }
    super
    FileUtils.rm_rf(@directory)
  end

  def lookup_store(options = {})
    return super if STAND_IN
    ActiveSupport::Cache.lookup_store(:tiercel_store, *urls, **RailsBehaviours::PATIENT, **options)
  end

  private

  def redis = (@@server ||= Tiercel::Lab::Servers::Redis.new.start).url # rubocop:disable Style/ClassVars
  def shared = "shared:#{@directory}/segment?size=8MB"
  def sqlite = "sqlite:#{@directory}/cache.sqlite3"
end

class TiersSharedAndSQLiteBehavioursTest < TiersBehavioursTestCase
  include(*RailsBehaviours::FILE)
  include EncodedKeyCacheBehavior

  private

  def urls = [shared, sqlite]

  # `sqlite:` behaves in the same way.
  def compression_always_disabled_by_default? = true
end

class TiersSharedAndRedisBehavioursTest < TiersBehavioursTestCase
  include(*(RailsBehaviours::FILE - [CacheDeleteMatchedBehavior]))
  include EncodedKeyCacheBehavior
  include RailsBehaviours::DeleteMatchedByGlob

  private

  def urls = [shared, redis]
end

class TiersMemoryAndRedisBehavioursTest < TiersBehavioursTestCase
  include(*(RailsBehaviours::FILE - [CacheDeleteMatchedBehavior]))
  include EncodedKeyCacheBehavior
  include RailsBehaviours::DeleteMatchedByGlob

  private

  def urls = ["memory:", redis]
end

class TiersThreeBehavioursTest < TiersBehavioursTestCase
  include(*(RailsBehaviours::FILE - [CacheDeleteMatchedBehavior]))
  include EncodedKeyCacheBehavior
  include RailsBehaviours::DeleteMatchedByGlob

  private

  def urls = ["memory:", shared, redis]
end
