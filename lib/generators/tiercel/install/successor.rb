# frozen_string_literal: true

require "tiercel/backend_url"
require "tiercel/option_hints"
require "tiercel/optional_gems"
require_relative "carried_options"
require_relative "successor_url"

module Tiercel
  module Generators
    # The statement that replaces one current store by Tiercel, and its consequences: the options that it keeps, the
    # gems that it needs, and notes for the user.
    #
    # @private
    class Successor
      LINE_COLUMNS = 90
      # The gems of a backend, by the scheme of its URL.
      GEMS = { "redis" => %w[redis-client hiredis-client], "memcached" => %w[dalli], "sqlite" => %w[sqlite3] }.freeze
      SHARED_DATABASE = "Solid Cache keeps this cache in %s, which several machines can share. A local file would be " \
                        "another cache on each machine, so the present store stays. Type --url=redis://HOST:6379/0 " \
                        "for one cache for all machines, or --url=sqlite:%s if there is only one machine."
      private_constant :GEMS, :SHARED_DATABASE

      # @return [Array<String>] sentences
      attr_reader :notes

      # @param present [CurrentStore, nil]
      # @param url [String, nil] the URL that the user requested; several tiers are separated by spaces, nearest first
      # @param size [String, nil] the size that the user requested
      # @param solid_cache [SolidCacheSettings, nil]
      # @param alternative [Boolean] whether the application has other stores under other conditions
      def initialize(present, url: nil, size: nil, solid_cache: nil, alternative: false)
        @present = present
        @solid_cache = solid_cache
        @alternative = alternative
        @notes = []
        @asked_size = size
        *@nears, last = url.to_s.split
        @nears = ["shared:"] if url.nil? && kind == :solid_cache_store
        @url = last&.inspect || url_source
        @options = @url ? all_options : {}
      end

      # @return [String, nil] Ruby; nil if the current store stays
      def statement
        return unless @url
        parts = [":tiercel_store"]
        parts.concat(@nears.map(&:inspect))
        parts << mounted_url unless @url == '"shared:"' && options.empty? && @nears.empty?
        "config.cache_store = #{parts.join(", ")}#{hash(parts) if options.any?}"
      end

      # @return [Boolean] whether it uses memory that the processes share
      def shared? = @url ? [*near_schemes, scheme].include?("shared") : false

      # @return [Boolean] whether it has a near tier
      def tiered? = @url ? @nears.any? : false

      # @return [String, nil] for example "redis" or "shared"
      def scheme = @url && (@url[/\A"([a-z][a-z+]*):/, 1] || "redis")

      # @return [Hash{String => String}] lines for the Gemfile, by gem
      def gems
        return {} unless @url
        family = scheme == "unix" ? "redis" : scheme.sub(/\Arediss?(\+.*)?\z/, "redis")
        names = GEMS.fetch(family, []) + (scheme.end_with?("+cluster") ? ["redis-cluster-client"] : [])
        names.to_h do |name|
          [name, OptionalGems::OLDEST.key?(name) ? OptionalGems.line(name) : %(gem "#{name}")]
        end
      end

      # @return [String, nil] the path of a cache in the application's folder, relative to that folder
      def path
        path = @url&.[](/\A"(?:sqlite|file):([^"#?]+)(?:\?[^"]*)?"\z/, 1)
        path unless path.nil? || path.start_with?("/")
      end

      private

      attr_reader :options

      # Puts the options on one line, or on a line each if that line would be long.
      def hash(parts)
        pairs = options.map { |name, source| "#{name}: #{source}" }
        line = ", { #{pairs.join(", ")} }"
        return line if "#{parts.join(", ")}#{line}".size < LINE_COLUMNS && !line.include?("\n")
        ", {\n#{pairs.map { |pair| "  #{pair},\n" }.join}}"
      end

      def kind = @present&.kind

      def near_schemes = @nears.map { |url| url[/\A[a-z+]+/] }

      # Both tiers have an option `size`, so the URL says which one is meant.
      def mounted_url
        return @url unless @size
        size = @size[/\A"([^"#\\]*)"\z/, 1] || "\#{#{@size}}"
        "#{@url.delete_suffix('"')}?size=#{size}\""
      end

      def url_source
        case kind
        when nil then @present ? unknown : '"shared:"'
        when :memory_store then '"shared:"'
        when :null_store then '"shared:"' unless @alternative
        when :solid_cache_store then solid_cache_url
        when :redis_cache_store, :mem_cache_store, :file_store then known_url
        when :tiercel_store then nil
        else unknown
        end
      end

      def known_url
        urls = SuccessorUrl.new(@present)
        source = urls.source
        @notes << "#{kind} in line #{@present.line} stays. #{urls.refusal}" unless source
        @used = urls.used_options if source
        source
      end

      def unknown
        @notes << "The generator does not know the current cache store (#{kind&.inspect || "an expression"}, line " \
                  "#{@present.line}), so it stays. Use --url=... to replace it."
        nil
      end

      def solid_cache_url
        return %("sqlite:#{@solid_cache.file}") if @solid_cache&.local? && !@present.open_ended?
        @notes << format(SHARED_DATABASE, @solid_cache&.server || "a database", @solid_cache&.file || "PATH")
        nil
      end

      def all_options
        kept = carried.to_h.dup
        @notes.concat(carried.notes)
        add_solid_cache_notes if kind == :solid_cache_store
        kept[:size] = @asked_size.inspect if @asked_size
        @size = kept.delete(:size) if @nears.any?
        kept
      end

      def carried
        @carried ||= CarriedOptions.new(given, [*near_schemes, scheme], used: @used || [])
      end

      # As in Solid Cache, the statement's options override config/cache.yml.
      def given
        return {} unless @present
        return @present.options unless kind == :solid_cache_store && @solid_cache
        from_file = @solid_cache.options
        from_file.delete(:max_age) if own_age? && @solid_cache.default_age?
        { **from_file, **@present.options }
      end

      def own_age? = %i[max_age expires_in].any? { |name| @present.options.key?(name) }

      def add_solid_cache_notes
        settings = @solid_cache or return
        if settings.default_age? && !own_age?
          @notes << "expires_in: 14 days is Solid Cache's default for max_age. Remove it to keep entries until " \
                    "they are evicted."
        end
        @notes << "databases: dropped. Tiercel keeps one file on each machine." if settings.sharded?
        @notes << "encrypt: dropped. Tiercel does not encrypt; docs/migrating.md shows a coder that does." \
          if settings.encrypted?
      end
    end
  end
end
