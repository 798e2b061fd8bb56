# frozen_string_literal: true

require "logger"
require "active_support/cache"
require "active_support/notifications"

# For test classes: a subscriber hears of every event of the cache, and a logger at the level debug of every call.
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
