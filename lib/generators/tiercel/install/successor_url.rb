# frozen_string_literal: true

require "prism"

module Tiercel
  module Generators
    # Builds Ruby source for the URL that replaces the servers or the folder of a Rails store.
    #
    # The source keeps the meaning of `ENV["X"]`: if the variable is missing, the URL is the default of the Rails
    # store, so that an asset build boots without the variable.
    #
    # @private
    class SuccessorUrl
      REDIS = "redis://localhost:6379/0"
      MEMCACHED = "localhost:11211"
      VARIABLE = /\AENV(?:\[(?:"(\w+)"|'(\w+)')\]|\.fetch\((?:"(\w+)"|'(\w+)'), *nil\))\z/

      SEVERAL = "It has several servers or a custom client; docs/migrating.md shows the counterpart. " \
                "Use --url=redis+cluster://... or --url=redis://... to replace it."
      LOGIN = "It logs in to memcached (username:, password:). Tiercel does not log in to memcached; use a server " \
              "in a private network or behind TLS, or give --url=redis://..."
      ELSEWHERE = "Some of its options come from elsewhere. Write the statement by hand."
      private_constant :SEVERAL, :LOGIN, :ELSEWHERE

      # @return [String, nil] the reason why there is no URL
      attr_reader :refusal

      # @param present [CurrentStore]
      def initialize(present)
        @present = present
      end

      # @return [String, nil] Ruby; nil with a {#refusal}
      def source
        return refuse(ELSEWHERE) if @present.open_ended?
        case @present.kind
        when :redis_cache_store then redis
        when :mem_cache_store then memcached
        when :file_store then file
        end
      end

      # @return [Array<Symbol>] options that are part of the URL
      def used_options = %i[url host port path ssl]

      private

      def options = @present.options
      def arguments = @present.arguments

      def refuse(reason)
        @refusal = reason
        nil
      end

      def redis
        return refuse(SEVERAL) if several_redis?
        return %("unix:#{inside(options[:path])}") if options.key?(:path)
        return redis_host if options.key?(:host) || options.key?(:port)
        return %(ENV.fetch("REDIS_URL", "#{REDIS}")) unless options.key?(:url)
        with_default(options[:url], REDIS)
      end

      def several_redis?
        url = options[:url].to_s
        arguments.any? || %i[redis cluster].any? { |name| options.key?(name) } ||
          url.match?(/\A(\[|%w)|\.(split|map)\b/)
      end

      def redis_host
        scheme = options[:ssl] == "true" ? "rediss" : "redis"
        %("#{scheme}://#{inside(options.fetch(:host, '"localhost"'))}:#{inside(options.fetch(:port, "6379"))}")
      end

      def memcached
        return refuse(LOGIN) if %i[username password].any? { |name| options.key?(name) }
        servers = arguments.flat_map { |node| node.is_a?(Prism::ArrayNode) ? node.elements : node }
        return %("memcached://\#{ENV.fetch("MEMCACHE_SERVERS", "#{MEMCACHED}")}") if servers.empty?
        return named(servers.map(&:unescaped)) if servers.all?(Prism::StringNode)
        variable = servers.first.slice if servers.one?
        return %("memcached://\#{#{with_default(variable, MEMCACHED)}}") if variable&.match?(VARIABLE)
        list = "[#{servers.map(&:slice).join(", ")}].join(\",\")"
        %("memcached://\#{#{list}.presence || "#{MEMCACHED}"}")
      end

      def named(servers)
        return refuse(LOGIN) if servers.any? { |server| server.include?("@") }
        return "memcached:#{servers.first}".inspect if servers.one? && servers.first.start_with?("/")
        "memcached://#{servers.map { |server| server.delete_prefix("memcached://") }.join(",")}".inspect
      end

      def file
        return '"file:tmp/cache"' if arguments.empty?
        %("file:#{inside(arguments.first.slice)}")
      end

      # Like the Rails store, uses the default if the source evaluates to nil.
      def with_default(source, default)
        variable = source.match(VARIABLE)&.captures&.compact&.first
        return %(ENV.fetch("#{variable}", "#{default}")) if variable
        case node = Prism.parse(source).value.statements.body.first
        when Prism::CallNode then node.receiver&.slice == "ENV" ? source : %(#{source} || "#{default}")
        when Prism::OrNode then node.right.is_a?(Prism::StringNode) ? source : %(#{source} || "#{default}")
        when Prism::IfNode then %((#{source}) || "#{default}")
        else source
        end
      end

      # The source for interpolation into a double-quoted String.
      def inside(source)
        literal = Prism.parse(source).value.statements.body.first
        return literal.unescaped.inspect[1..-2] if literal.is_a?(Prism::StringNode)
        return source[1..-2] if literal.is_a?(Prism::InterpolatedStringNode) && literal.opening == '"'
        literal.is_a?(Prism::IntegerNode) ? source : "\#{#{source}}"
      end
    end
  end
end
