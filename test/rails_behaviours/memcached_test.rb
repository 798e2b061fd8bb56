# frozen_string_literal: true

require "redis"
require_relative "remote_support"

class MemcachedBehavioursTest < RailsBehaviours::RemoteTestCase
  server_class Tiercel::Lab::Servers::Memcached
  include(*RailsBehaviours::REMOTE)
end

class MemcachedFailureRaisingTest < RailsBehaviours::RemoteTestCase
  server_class Tiercel::Lab::Servers::Memcached
  include FailureRaisingBehavior

  private

  # Rails' suite expects the error class of the Redis client; here the handler raises it.
  def unavailable_options = { error_handler: ->(exception:, **) { raise Redis::BaseError, exception.message } }
end
