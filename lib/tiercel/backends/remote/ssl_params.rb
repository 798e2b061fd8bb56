# frozen_string_literal: true

require "openssl"

require_relative "../../errors"

module Tiercel
  module Backends
    module Remote
      # The option `ssl_params`: what TLS is to be made of. Its values may be
      # private keys, so no message shows them, except for places of files.
      module SSLParams
        PLACES = %i[ca_file ca_path].freeze
        # What the libraries raise where they can make no context.
        ERRORS = [TypeError, ArgumentError, NoMethodError, RuntimeError, SystemCallError,
                  OpenSSL::OpenSSLError].freeze
        private_constant :PLACES, :ERRORS

        module_function

        # @param given [Hash, nil] with names as Symbols or Strings
        # @return [Hash{Symbol => Object}]
        # @raise [ConfigurationError] if it is no Hash, or names a file that cannot be read
        def parse(given)
          params = (given || {}).to_h.transform_keys(&:to_sym)
          PLACES.each do |name|
            next if params[name].nil? || ::File.readable?(params[name])
            raise ConfigurationError, "ssl_params: #{name}: #{params[name].inspect} is not there, or cannot be read"
          end
          params
        rescue NoMethodError, TypeError
          raise ConfigurationError, "ssl_params: expected a Hash, got a #{given.class}"
        end

        # @param given [Hash, nil]
        # @yieldparam params [Hash{Symbol => Object}] a copy, of the library's to change
        # @yieldreturn [Object] the context that a library made
        # @return [Object] the block's value
        # @raise [ConfigurationError] in the place of what the library raises
        def context(given)
          params = parse(given)
          yield params.dup
        rescue ConfigurationError
          raise
        rescue *ERRORS => error
          raise ConfigurationError, "ssl_params: no TLS can be made of #{params.keys.join(", ")}: " \
                                    "#{error.class}: #{error.message.lines.first&.chomp}"
        end
      end
    end
  end
end
