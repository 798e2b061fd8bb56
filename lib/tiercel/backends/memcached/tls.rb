# frozen_string_literal: true

require "openssl"

require_relative "../../backend"
require_relative "../../errors"

module Tiercel
  module Backends
    class Memcached < Backend
      # TLS from options.
      module TLS
        OPTIONS = %i[ssl ssl_params ssl_context].freeze

        # @param options [Hash] `ssl` (true, false, "true", "false" or an SSLContext), `ssl_params` (Hash),
        #   `ssl_context` (as Rails' MemCacheStore calls it)
        # @return [OpenSSL::SSL::SSLContext, nil] nil for no TLS
        # @raise [ConfigurationError]
        def self.context(options)
          given = options[:ssl_context] || options[:ssl]
          return given if given.is_a?(OpenSSL::SSL::SSLContext)
          unless [nil, true, false, "true", "false"].include?(given)
            raise ConfigurationError, "ssl: expected true, false or an OpenSSL::SSL::SSLContext, got #{given.inspect}"
          end
          return if given.to_s == "false" || (given.nil? && options[:ssl_params].nil?)
          OpenSSL::SSL::SSLContext.new.tap { |context| context.set_params(options[:ssl_params] || {}) }
        rescue TypeError, NoMethodError, OpenSSL::SSL::SSLError => error
          raise ConfigurationError, "ssl_params: expected a Hash as OpenSSL::SSL::SSLContext#set_params takes it, " \
                                    "got #{options[:ssl_params].inspect}: #{error.message}"
        end
      end
    end
  end
end
