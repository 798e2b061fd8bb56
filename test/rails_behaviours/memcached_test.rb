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

  # Rails' suite names the error that Redis' client raises; what matters is that the handler's comes out.
  def unavailable_options = { error_handler: ->(exception:, **) { raise Redis::BaseError, exception.message } }
end
