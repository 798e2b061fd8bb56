# frozen_string_literal: true

require "redis"
require "tmpdir"
require_relative "support"
require "tiercel/lab/network"
require "tiercel/lab/servers"

# Rails' behaviours over every backend and over tiers. All stores of one test share a folder, or a server that is
# emptied before each test.
class BehavioursTestCase < RailsBehaviours::TestCase
  Servers = Tiercel::Lab::Servers
  # The same latency as in Rails' own simulation.
  LATENCY_SECONDS = 0.2

  class << self
    attr_accessor :server_class

    def server = (@@servers ||= {})[server_class] ||= server_class.new.start # rubocop:disable Style/ClassVars
  end

  def setup
    super
    @cache.clear
  end

  def teardown
    super
    [@cache, @peek].each { |store| store.close if store.respond_to?(:close) }
    FileUtils.rm_rf(@folder) if @folder
  end

  def lookup_store(options = {}) = super(STAND_IN ? options : { **patience, **options })

  private

  # On a busy machine a server may answer later than the default time budget allows, and the call is a miss.
  def patience = self.class.server_class ? { timeout: 5 } : {}
  def folder = @folder ||= Dir.mktmpdir("tiercel-behaviours-")

  # Rails' tests simulate latency and failures in the client; here a proxy between client and server causes them.
  def emulating_latency
    Tiercel::Lab::Network::Proxy.run(self.class.server, delay: LATENCY_SECONDS) do |proxy|
      @proxy = proxy
      yield
    ensure
      @proxy = nil
    end
  end

  def store = [:tiercel_store, @proxy&.url || urls.first]
  def store_options = { timeout: 2 }

  def emulating_unavailability
    port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
    nobody = urls.first.sub(/:\d+/, ":#{port}")
    yield ActiveSupport::Cache.lookup_store(:tiercel_store, nobody, **unavailable_options)
  end

  def unavailable_options = {}
end

# Rails' suite expects the error class of the Redis client; here the handler raises it.
module FailureRaising
  include FailureRaisingBehavior

  private

  def unavailable_options = { error_handler: ->(exception:, **) { raise Redis::BaseError, exception.message } }
  # From Rails 8.2 on, the store's test class defines the error that its client raises.
  def assert_raise_redis_error(...) = assert_raise(Redis::BaseError, ...)
end

# `memory:`, whose stores share nothing, has the suites of Rails' memory stores.
FILE_WITHOUT_REGEXP = RailsBehaviours::FILE - [CacheDeleteMatchedBehavior] +
                      [RailsBehaviours::DeleteMatchedByGlob, EncodedKeyCacheBehavior]
{
  Memory: [nil, RailsBehaviours::MEMORY, ->(_) { ["memory:"] }],
  Shared: [nil, RailsBehaviours::MEMORY, ->(dir) { ["shared:#{dir}/segment?size=8MB"] }],
  File: [nil, [*RailsBehaviours::FILE, EncodedKeyCacheBehavior], ->(dir) { ["file:#{dir}/files"] }],
  SQLite: [nil, [*RailsBehaviours::FILE, LocalCacheBehavior, EncodedKeyCacheBehavior],
           ->(dir) { ["sqlite:#{dir}/cache.sqlite3"] }],
  Redis: [:Redis, RailsBehaviours::REMOTE, ->(_, server) { [server.url] }],
  RedisRaising: [:Redis, [FailureRaising], ->(_, server) { [server.url] }],
  Memcached: [:Memcached, RailsBehaviours::REMOTE, ->(_, server) { [server.url] }],
  MemcachedRaising: [:Memcached, [FailureRaising], ->(_, server) { [server.url] }],
  SharedAndSQLite: [nil, [*RailsBehaviours::FILE, EncodedKeyCacheBehavior],
                    ->(dir) { ["shared:#{dir}/segment?size=8MB", "sqlite:#{dir}/cache.sqlite3"] }],
  SharedAndRedis: [:Redis, FILE_WITHOUT_REGEXP,
                   ->(dir, server) { ["shared:#{dir}/segment?size=8MB", server.url] }],
  MemoryAndRedis: [:Redis, FILE_WITHOUT_REGEXP, ->(_, server) { ["memory:", server.url] }],
}.each do |name, (server, suites, urls)|
  test_class = Class.new(BehavioursTestCase) do
    include(*suites)
    self.server_class = Tiercel::Lab::Servers.const_get(server) if server
    define_method(:urls) { urls.call(*[folder, (self.class.server if server)].first(urls.arity)) }
    # A backend near the process stores small values uncompressed, because that is cheaper.
    define_method(:compression_always_disabled_by_default?) { %i[Memory Shared SQLite SharedAndSQLite].include?(name) }
    private :urls
  end
  Object.const_set("#{name}BehavioursTest", test_class)
end
