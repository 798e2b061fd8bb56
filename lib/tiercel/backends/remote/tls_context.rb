# frozen_string_literal: true

require "openssl"

module Tiercel
  module Backends
    module Remote
      # The TLS context of a store's connections, made of the option
      # `ssl_params`.
      #
      # The context is created once and not for each connection, because reading the machine's certificate authorities
      # takes 20 ms. If one of its files changes, for example after a renewal of certificates, the context is created
      # again.
      class TLSContext
        # Options that name files.
        PLACES = %i[ca_file ca_path].freeze
        # Options whose value is a file's path or a file's content.
        PLACES_OR_TEXTS = %i[cert key].freeze
        # Errors that the libraries raise if they cannot create a context.
        ERRORS = [TypeError, ArgumentError, NoMethodError, RuntimeError, SystemCallError,
                  OpenSSL::OpenSSLError].freeze
        private_constant :PLACES, :PLACES_OR_TEXTS, :ERRORS

        # @param params [Hash, nil] `ssl_params`: parameters of SSLContext#set_params, with names as Symbols or Strings.
        #   `cert` and `key` may be files or their content
        # @raise [ConfigurationError] if none can be made. Values may be private keys: no message shows them,
        #   but for places of files
        def initialize(params)
          @params = self.class.parse(params)
          @stamps = stamps
          @context = make
        rescue *ERRORS => error
          raise if error.is_a?(ConfigurationError)
          raise ConfigurationError, "ssl_params: no TLS can be made of #{@params.keys.join(", ")}: #{error.class}: " \
                                    "#{error.message.lines.first&.chomp}"
        end

        # @param given [Hash, nil]
        # @return [Hash{Symbol => Object}]
        # @raise [ConfigurationError] if it is no Hash, or names a file that cannot be read
        def self.parse(given)
          given ||= {}
          raise ConfigurationError, "ssl_params: expected a Hash, got a #{given.class}" unless given.is_a?(Hash)
          given.transform_keys(&:to_sym).each do |name, value|
            next if !PLACES.include?(name) || value.nil? || ::File.readable?(value)
            raise ConfigurationError, "ssl_params: #{name}: #{value.inspect} is not there, or cannot be read"
          end
        end

        # @return [Object] the context for the next connection
        def current
          stamps = self.stamps
          return @context if stamps == @stamps
          @stamps = stamps
          @context = make
        rescue *ERRORS # half a file: there will be more of it
          @context
        end

        private

        def make
          params = @params.dup
          params[:cert] = OpenSSL::X509::Certificate.new(text(params[:cert])) if params[:cert].is_a?(String)
          params[:key] = OpenSSL::PKey.read(text(params[:key])) if params[:key].is_a?(String)
          OpenSSL::SSL::SSLContext.new.tap { |context| context.set_params(params) }.tap(&:setup)
        end

        def text(place_or_text) = ::File.file?(place_or_text) ? ::File.read(place_or_text) : place_or_text

        # The times of a file; for a link, the times of its current target.
        def stamps
          @params.slice(*PLACES, *PLACES_OR_TEXTS).values.grep(String).map do |place|
            stat = ::File.stat(place)
            [stat.ino, stat.mtime]
          rescue SystemCallError, ArgumentError # the file is missing, or the option is a certificate's text
            nil
          end
        end
      end
    end
  end
end
