# frozen_string_literal: true

require_relative "../backend_url"
require_relative "../errors"
require_relative "../extensions"
require_relative "../redacted"
require_relative "memory"
require_relative "null"

module Tiercel
  module Backends
    # Replaces `shared:` if the C extension is missing.
    #
    # `on_unavailable:` decides. By default, development and test use a `memory:` of this process and print one
    # warning; any other environment fails to boot. `:raise`: the boot always fails. `:miss`: every call is a miss.
    module SharedMissing
      # @return [Array<Symbol>] the options of {Shared}
      def self.option_names = %i[size mode memo on_unavailable]

      class << self
        # @param url [BackendURL]
        # @param options [Hash] as for {Shared.build}
        # @return [MemoryLRU, Null]
        # @raise [MissingDependency] in production, or with `on_unavailable: :raise`
        def build(url, options)
          return memory(options) if ENV["SECRET_KEY_BASE_DUMMY"] # an asset build has no use for a cache
          if substitute(url, options) == :memory
            notify("#{url} is memory: here, a cache of this process alone")
            memory(options)
          else
            notify("every call to #{url} is a miss")
            Null.new
          end
        end

        # A near tier needs the extension. Without the extension every read goes to the last tier.
        #
        # @param url [BackendURL] the URL of the near tier
        # @param options [Hash] the options of the near tier
        # @return [void]
        # @raise [MissingDependency] in production, or with `on_unavailable: :raise`
        def leave_out(url, options)
          substitute("#{url} as a near tier", options)
          notify("#{url} is not used, and every read goes to the next tier")
        end

        private

        def substitute(wanted, options)
          choice = options[:on_unavailable]
          check(choice) unless choice.nil?
          return :miss if choice.to_s == "miss"
          return :memory if choice.nil? && lenient?
          raise MissingDependency,
                "#{wanted} needs Tiercel's C extension, which is missing: #{Extensions.reason}. Or use " \
                "\"memory:\" (one process), \"sqlite:PATH\" or \"file:DIR\" (all processes of a machine), or set " \
                "on_unavailable: :miss"
        end

        def check(choice)
          return if %w[miss raise].include?(choice.to_s)
          raise ConfigurationError, "on_unavailable: expected :miss or :raise, got #{Redacted.text(choice)}"
        end

        def lenient?
          environment = defined?(Rails.env) ? Rails.env.to_s : ENV["RAILS_ENV"] || ENV["RACK_ENV"]
          %w[development test].include?(environment)
        end

        def memory(options) = Memory.build(BackendURL.parse("memory:"), options.slice(:size))

        # Prints once per process. The line contains the reason, so the first boot prints no separate one.
        def notify(substitution)
          return if @notified
          @notified = true
          Extensions.first_time?
          warn("Tiercel: without the C extension #{substitution}: #{Extensions.reason}")
        end
      end
    end
  end
end
