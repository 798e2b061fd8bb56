# frozen_string_literal: true

require "logger"
require "active_support/cache"
require "active_support/notifications"

# For test classes: subscribes to every event of the cache, and sets a logger at the level debug.
module HeardCalls
  def setup
    super
    @subscriber = ActiveSupport::Notifications.subscribe(/\Acache_/) { |*| nil }
    @logger = ActiveSupport::Cache::Store.logger
    ActiveSupport::Cache::Store.logger = Logger.new(File::NULL, level: Logger::DEBUG)
  end

  def after_teardown
    ActiveSupport::Cache::Store.logger = @logger
    ActiveSupport::Notifications.unsubscribe(@subscriber)
    super
  end
end
