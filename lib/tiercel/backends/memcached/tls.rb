# frozen_string_literal: true

require "openssl"

require_relative "../../backend"
require_relative "../../errors"
require_relative "../remote/ssl_params"

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
          return given.tap { warn_of(given) } if given.is_a?(OpenSSL::SSL::SSLContext)
          unless [nil, true, false, "true", "false"].include?(given)
            raise ConfigurationError, "ssl: expected true, false or an OpenSSL::SSL::SSLContext, got #{given.inspect}"
          end
          return if given.to_s == "false" || (given.nil? && options[:ssl_params].nil?)
          Remote::SSLParams.context(options[:ssl_params]) do |params|
            OpenSSL::SSL::SSLContext.new.tap { |context| context.set_params(params) }.tap(&:setup)
          end
        end

        # What OpenSSL::SSL::SSLContext.new makes checks nothing at all.
        def self.warn_of(context)
          return if context.verify_mode.to_i.anybits?(OpenSSL::SSL::VERIFY_PEER) && context.verify_hostname
          warn "Tiercel: memcached: the SSLContext given as ssl does not check whose certificate the server shows; " \
               "context.set_params({}) makes it do so"
        end
        private_class_method :warn_of
      end
    end
  end
end
