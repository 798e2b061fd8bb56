# frozen_string_literal: true

require "openssl"

module Tiercel
  module Backends
    class Memcached < Backend
      # Builds the TLS context from the options.
      module TLS
        # @param options [Hash] `ssl` (true, false, "true", "false" or an SSLContext), `ssl_params` (Hash)
        # @return [#current, nil] provides an OpenSSL::SSL::SSLContext; nil for no TLS
        # @raise [ConfigurationError]
        def self.context(options)
          given = options[:ssl]
          return of_its_own(given) if given.is_a?(OpenSSL::SSL::SSLContext)
          unless [nil, true, false, "true", "false"].include?(given)
            raise ConfigurationError, "ssl: expected true, false or an OpenSSL::SSL::SSLContext, got " \
                                      "#{Redacted.text(given)}"
          end
          return if given.to_s == "false" || (given.nil? && options[:ssl_params].nil?)
          Remote::TLSContext.new(options[:ssl_params])
        end

        # A context that the application provides.
        Given = Struct.new(:current)

        # A plain OpenSSL::SSL::SSLContext.new verifies no certificate.
        def self.of_its_own(context)
          unless context.verify_mode.to_i.anybits?(OpenSSL::SSL::VERIFY_PEER) && context.verify_hostname
            warn "Tiercel: memcached: the SSLContext in ssl does not verify the server's certificate; " \
                 "call context.set_params({}) to enable it"
          end
          Given.new(context)
        end
        private_class_method :of_its_own
      end
    end
  end
end
