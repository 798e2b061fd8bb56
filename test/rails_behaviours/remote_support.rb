# frozen_string_literal: true

require_relative "support"
require "tiercel/lab/network"
require "tiercel/lab/servers"

module RailsBehaviours
  # A store on a server that the lab starts: one for each class, emptied before each test. Rails' tests simulate
  # latency and failures in the client; here a proxy between client and server causes them.
  class RemoteTestCase < TestCase
    # The same latency as in Rails' own simulation.
    LATENCY_SECONDS = 0.2

    class << self
      # @return [Tiercel::Lab::Servers::Server] the running server
      def server
        @server ||= server_class.new.start
      end

      # @param type [Class, nil] sets the class
      # @return [Class] the server's class
      def server_class(type = nil)
        type ? @server_class = type : @server_class || superclass.server_class
      end
    end

    def setup
      super
      @cache.clear
    end

    def lookup_store(options = {}) = super(STAND_IN ? options : { **PATIENT, **options })

    def teardown
      super
      [@cache, @peek].each { |store| store.close if store.respond_to?(:close) }
    end

    private

    def url = self.class.server.url

    def store = [:tiercel_store, @proxy&.url || url]

    def store_options = { timeout: 2 }

    def emulating_latency
      Tiercel::Lab::Network::Proxy.run(self.class.server, delay: LATENCY_SECONDS) do |proxy|
        @proxy = proxy
        yield
      ensure
        @proxy = nil
      end
    end

    def emulating_unavailability
      yield ActiveSupport::Cache.lookup_store(:tiercel_store, nobodys_url, **unavailable_options)
    end

    def nobodys_url
      port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
      url.sub(/:\d+/, ":#{port}")
    end

    def unavailable_options = {}

    # From Rails 8.2 on, the store's test class defines the error that its client raises.
    def assert_raise_redis_error(...) = assert_raise(Redis::BaseError, ...)
  end
end
