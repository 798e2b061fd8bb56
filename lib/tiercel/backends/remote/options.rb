# frozen_string_literal: true

module Tiercel
  module Backends
    module Remote
      # The options that backends over a network share, as values or, from a
      # URL's query string, as Strings.
      #
      #   Options.timeout("0.5")                          # => 0.5
      #   Options.pool({ size: "12" })                    # => { size: 12, timeout: 5.0 }
      #   Options.pool("12")                              # => { size: 12, timeout: 5.0 }
      #   Options.pool(false)                             # => { size: nil, timeout: 5.0 }
      module Options
        # Seconds that one call may take, all in all.
        DEFAULT_TIMEOUT = 0.25
        # Rails' own.
        DEFAULT_POOL = { size: 5, timeout: 5.0 }.freeze
        NAMES = %i[timeout connect_timeout pool].freeze

        # @param value [Numeric, String, nil] seconds
        # @param option [Symbol] the option, for the error message
        # @param default [Float, nil]
        # @return [Float, nil] seconds, > 0
        # @raise [ConfigurationError]
        def self.seconds(value, option, default = nil)
          return default if value.nil?
          seconds = Float(value, exception: false)
          return seconds if seconds&.positive? && seconds.finite?
          raise ConfigurationError, "#{option}: expected seconds (a number > 0), got #{Redacted.text(value)}"
        rescue TypeError
          raise ConfigurationError, "#{option}: expected seconds (a number > 0), got #{Redacted.text(value)}"
        end

        PORTS = 1..65_535
        # The port of HOST:PORT or [ADDRESS]:PORT, and the rest of the text.
        PORT = /\A(?:\[[^\]]*\]|[^:]*):(\d+)/
        private_constant :PORTS, :PORT

        # @param url [#to_s] the URL, for the error message; without a password
        # @param places [Array<String>] "HOST", "HOST:PORT" or "HOST:PORT:WEIGHT"; others are left alone
        # @return [void]
        # @raise [ConfigurationError] if a port is none
        def self.check_ports(url, places)
          places.each do |place|
            port = place[PORT, 1] or next
            next if PORTS.cover?(port.to_i)
            raise ConfigurationError, "#{url}: port #{port}: expected #{PORTS.min} to #{PORTS.max}"
          end
        end

        # @param options [Hash] `timeout`
        # @return [Float] seconds
        def self.timeout(options) = seconds(options[:timeout], :timeout, DEFAULT_TIMEOUT)

        # @param options [Hash] `pool` ({size:, timeout:}, an Integer, true or false)
        # @return [Hash] `size` (Integer, or nil for no limit) and `timeout` (seconds)
        # @raise [ConfigurationError]
        def self.pool(options)
          pool = options[:pool]
          return { size: nil, timeout: DEFAULT_POOL[:timeout] } if [false, "false"].include?(pool)
          named = pool.is_a?(Hash) ? pool.transform_keys(&:to_sym) : {}
          unknown = named.keys - DEFAULT_POOL.keys
          raise ConfigurationError, "pool: unknown #{unknown.inspect}: expected size and timeout" unless unknown.empty?
          size = named[:size] || (pool unless pool.is_a?(Hash) || pool == true || pool == "true")
          { size: pool_size(size), timeout: seconds(named[:timeout], :"pool timeout", DEFAULT_POOL[:timeout]) }
        end

        def self.pool_size(value)
          return DEFAULT_POOL[:size] if value.nil?
          size = value.is_a?(Integer) ? value : Integer(value.to_s, exception: false)
          return size if size&.positive?
          raise ConfigurationError, "pool: expected { size:, timeout: }, a number of connections > 0, or false; " \
                                    "got #{Redacted.text(value)}"
        end
        private_class_method :pool_size
      end
    end
  end
end
