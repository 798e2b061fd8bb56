# frozen_string_literal: true

require "tiercel/option_hints"
require "tiercel/optional_gems"

module Tiercel
  module Generators
    # The statement that mounts Tiercel for what a store of Rails' was there for, what of its options is kept, and the
    # gems that go with it.
    #
    # @private
    class Successor
      # Where the cache of Solid Cache's successor lies.
      DEFAULT_FILE = "storage/cache.sqlite3"

      LINE_COLUMNS = 90

      # @return [Array<String>] what the user has to know
      attr_reader :notes

      # @param present [PresentStore, nil]
      # @param url [String, nil] asked for in place of what stands for the present store
      # @param size [String, nil] asked for
      # @param solid_cache [String] config/cache.yml
      def initialize(present, url: nil, size: nil, solid_cache: "")
        @present = present
        @solid_cache = solid_cache
        @notes = []
        @url = url ? url.inspect : url_source
        @size = size
        @near = '"shared:"' if url.nil? && kind == :solid_cache_store
        @options = { **kept_options, **sizes }
      end

      # @return [String, nil] Ruby; nil where the present store is to stay
      def statement
        return unless @url
        parts = [":tiercel_store"]
        parts.push(*@near, mounted_url) unless @url == '"shared:"' && options.empty?
        "config.cache_store = #{parts.join(", ")}#{hash(parts) if options.any?}"
      end

      # @return [Boolean] whether memory that the processes share is a part of it
      def shared? = scheme == "shared" || !@near.nil?

      # @return [String, nil] "redis", "shared"...
      def scheme = @url&.[](/\A"?([a-z][a-z+]*):/, 1) || (@url ? "redis" : nil)

      # @return [Hash{String => String}] lines of the Gemfile by the gem's name
      def gems
        names = { "redis" => %w[redis-client hiredis-client], "memcached" => %w[dalli], "sqlite" => %w[sqlite3] }
        return {} unless @url
        names.fetch(scheme.delete_prefix("unix+").sub(/\Arediss?(\+.*)?\z/, "redis"), []).to_h do |name|
          [name, OptionalGems::OLDEST.key?(name) ? OptionalGems.line(name) : %(gem "#{name}")]
        end
      end

      # @return [String, nil] of a cache in the application's folder, relative
      def path
        path = @url&.[](/\A"(?:sqlite|file):([^"#]+)"\z/, 1)
        path unless path.nil? || path.start_with?("/")
      end

      private

      attr_reader :options

      # The options, in a line of their own each where one would be long.
      def hash(parts)
        pairs = options.map { |name, source| "#{name}: #{source}" }
        line = ", { #{pairs.join(", ")} }"
        return line if "#{parts.join(", ")}#{line}".size < LINE_COLUMNS && !line.include?("\n")
        ", {\n#{pairs.map { |pair| "  #{pair},\n" }.join}}"
      end

      def kind = @present&.kind

      # Where a near tier has a size too, it is said in the URL of the one that it is for.
      def mounted_url = @near ? "#{@url.delete_suffix('"')}?size=#{size}\"" : @url

      # Ruby source of the URL.
      def url_source
        case kind
        when nil, :memory_store, :null_store then @present && kind.nil? ? unknown : '"shared:"'
        when :solid_cache_store then %("sqlite:#{DEFAULT_FILE}")
        when :file_store then file_url
        when :redis_cache_store then redis_url
        when :mem_cache_store then memcached_url
        when :tiercel_store then nil
        else unknown
        end
      end

      def unknown
        @notes << "The present cache store (#{kind&.inspect || "no Symbol"}) is none that Tiercel knows, and stays. " \
                  "Give --url to put Tiercel in its place."
        nil
      end

      def file_url
        first = @present.arguments.first
        return '"file:tmp/cache"' unless first
        first.is_a?(Prism::StringNode) ? "file:#{first.unescaped}".inspect : %("file:\#{#{first.slice}}")
      end

      def redis_url
        source = @present.options[:url] || 'ENV["REDIS_URL"]'
        return fetched(source) unless source.start_with?("[") || @present.options.key?(:redis)
        @notes << "RedisCacheStore has several servers here, or a client of its own: docs/migrating.md says what " \
                  "stands for it. The present store stays; --url=redis+cluster://... puts Tiercel in its place."
        nil
      end

      # An environment variable that is not set is no URL, and shall end the boot by its name.
      def fetched(source)
        source.sub(/\AENV\[(["'])(\w+)\1\]\z/) do
          $2 == "REDIS_URL" && !@present.options.key?(:url) ? %(ENV.fetch("REDIS_URL", "redis://localhost:6379/0"))
                                                            : %(ENV.fetch("#{$2}"))
        end
      end

      def memcached_url
        servers = @present.arguments
        return '"memcached://#{ENV.fetch("MEMCACHE_SERVERS", "localhost:11211")}"' if servers.empty?
        parts = servers.map { |node| node.is_a?(Prism::StringNode) ? node.unescaped : "\#{#{fetched(node.slice)}}" }
        %("memcached://#{parts.join(",")}")
      end

      def sizes
        @near || size.nil? ? {} : { size: size.inspect }
      end

      # @return [String, nil]
      def size
        return @size if @size || kind != :solid_cache_store || !@url.start_with?('"sqlite:')
        "#{@solid_cache[/max_size:.*?(\d+)\.megabytes/, 1] || 256}MB"
      end

      # What every store knows, and what our own backends call by the same name.
      def kept_options
        return {} unless @present && %i[tiercel_store solid_cache_store].none?(kind)
        timeout = @present.options[:read_timeout] || @present.options[:socket_timeout]
        lost = @present.options.keys & OptionHints::HABITS.keys - %i[url]
        (lost - %i[read_timeout socket_timeout]).each do |name|
          @notes << "#{name}: left out here. Tiercel: #{OptionHints::HABITS[name]}."
        end
        kept = @present.options.except(*OptionHints::HABITS.keys, :connect_timeout)
        timeout ? { **kept, timeout: timeout } : kept
      end
    end
  end
end
