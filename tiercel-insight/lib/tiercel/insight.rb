# frozen_string_literal: true

require "active_support"
require "active_support/cache"
require "active_support/isolated_execution_state"
require "active_support/notifications"
require_relative "insight/version"

# Shows what the cache of an application does, whatever its store: hits, the cost of misses by class of key, what more
# memory would bring, and values that are no longer true. docs/insight.md describes it.
module Tiercel::Insight
  # The root of the gem's errors.
  class Error < StandardError; end
  # An invalid option.
  class ConfigurationError < ArgumentError; end

  class << self
    # Runs the block without counting this thread's calls of caches.
    #
    # @return [Object] the block's value
    def uncounted
      before = ActiveSupport::IsolatedExecutionState[:tiercel_insight_uncounted]
      ActiveSupport::IsolatedExecutionState[:tiercel_insight_uncounted] = true
      yield
    ensure
      ActiveSupport::IsolatedExecutionState[:tiercel_insight_uncounted] = before
    end

    # Boots the application inside the block without a collector: its process serves no requests.
    #
    # @private
    def quiet
      @quiet = true
      yield
    end

    # @private
    def quiet? = @quiet || false

    # @private
    def uncounted? = ActiveSupport::IsolatedExecutionState[:tiercel_insight_uncounted]
  end

  autoload :Doctor, File.expand_path("insight/doctor", __dir__)
  autoload :EntryReport, File.expand_path("insight/entry_report", __dir__)
  autoload :Text, File.expand_path("insight/text", __dir__)
end

require_relative "insight/railtie" if defined?(Rails::Railtie)
