# frozen_string_literal: true

require "active_support/notifications"
require "logger"

# The listeners to a store's events, each as a Proc that runs a call while it listens.
module Listeners
  ALL = {
    "subscriber" => lambda do |_store, &call|
      ActiveSupport::Notifications.subscribed(->(*) {}, /\Acache_.*\.active_support\z/, &call)
    end,
    "debug logger" => lambda do |store, &call|
      before, store.logger = store.logger, Logger.new(File::NULL, level: Logger::DEBUG)
      call.call
    ensure
      store.logger = before
    end,
  }.freeze
end
