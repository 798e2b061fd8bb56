# frozen_string_literal: true

require "redis"
require_relative "remote_support"

class RedisBehavioursTest < RailsBehaviours::RemoteTestCase
  server_class Tiercel::Lab::Servers::Redis
  include(*RailsBehaviours::REMOTE)
end

class RedisFailureRaisingTest < RailsBehaviours::RemoteTestCase
  server_class Tiercel::Lab::Servers::Redis
  include FailureRaisingBehavior

  private

  # Rails' suite names the error that Redis' client raises; what matters is that the handler's comes out.
  def unavailable_options = { error_handler: ->(exception:, **) { raise Redis::BaseError, exception.message } }
end
