# frozen_string_literal: true

require_relative "boot"

require "rails"
require "active_record/railtie"
require "action_controller/railtie"
require "action_view/railtie"
require "rails/test_unit/railtie"

Bundler.require(*Rails.groups)
if ENV["CACHE_STORE"].to_s.start_with?("solid_cache_store")
  require "active_job/railtie" # Solid Cache uses it to remove expired entries
  require "solid_cache"
end

# A shop that caches typical data of shops: fragments, records, an API response, a counter and a rate limit.
module Shop
  class Application < Rails::Application
    config.load_defaults Rails::VERSION::STRING.to_f

    # Reads the arguments of `config.cache_store =` from the environment: CACHE_STORE="tiercel_store shared:",
    # CACHE_STORE='redis_cache_store {"url":"redis://127.0.0.1:6379"}'.
    #
    # @return [Array] as ActiveSupport::Cache.lookup_store takes it
    def self.cache_store
      name, *rest = ENV.fetch("CACHE_STORE", "tiercel_store").split(" ", 2)
      arguments = rest.first.to_s.scan(/\{.*\}|\S+/).map do |word|
        word.start_with?("{") ? JSON.parse(word, symbolize_names: true) : word
      end
      [name.to_sym, *arguments]
    end
  end
end
