# frozen_string_literal: true

require_relative "servers/errors"
require_relative "servers/server"
require_relative "servers/memcached"
require_relative "servers/memcached_ring"
require_relative "servers/redis"
require_relative "servers/postgresql"
require_relative "servers/redis_cluster"
require_relative "servers/redis_sentinel"

module Tiercel
  module Lab
    # Starts servers for tests and measurements, on free loopback ports or Unix sockets, and stops them by PID. It never
    # uses a server that is running already, and no server outlives the process that started it.
    #
    #   server = Tiercel::Lab::Servers::Memcached.new.start
    #   server.url     # => "memcached://127.0.0.1:38211"
    #   server.stop
    #
    #   Tiercel::Lab::Servers::Redis.run { |server| ... server.url ... }
    module Servers
    end
  end
end
