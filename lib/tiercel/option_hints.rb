# frozen_string_literal: true

require "did_you_mean"

module Tiercel
  # Suggests a replacement for an unknown option: another store's option, or a misspelt one.
  #
  # @private
  module OptionHints
    URL = "give the URL first, and options after it: :tiercel_store, \"redis://HOST:6379/0\", { pool: { size: 10 } }"
    TIMEOUT = "use `timeout: SECONDS`, one budget for the whole call"
    NO_RETRY = "remove it: a call on a dead connection is retried once, within `timeout`"

    # Option names of Rails' stores, Dalli, redis-client and Solid Cache.
    HABITS = {
      url: URL, urls: URL, servers: URL, server: URL, host: URL, port: URL, hosts: URL, addresses: URL, nodes: URL,
      path: "give it in the URL: \"file:DIR\", \"sqlite:PATH\", \"shared:/PATH\"",
      cache_path: "give it in the URL: \"file:DIR\"", directory: "give it in the URL: \"file:DIR\"",
      database: "give it in the URL: \"sqlite:PATH\"", databases: "give it in the URL: \"sqlite:PATH\"",
      redis: "give the URL in place of a connection: \"redis://HOST:6379/0\"",
      read_timeout: TIMEOUT, write_timeout: TIMEOUT, socket_timeout: TIMEOUT, command_timeout: TIMEOUT,
      reconnect_attempts: NO_RETRY, reconnect_delay: NO_RETRY, socket_max_failures: NO_RETRY,
      down_retry_delay: "use `breaker: { cool_down: SECONDS }`",
      socket_failure_delay: "use `breaker: { cool_down: SECONDS }`",
      failover: "remove it: keys of an unreachable server are misses",
      cluster: "give a URL: \"redis+cluster://HOST:6379,HOST:6379\"",
      ssl: "give a URL: \"rediss://HOST:6379/0\"",
      max_size: "use `size: \"256MB\"`", max_bytes: "use `size: \"256MB\"`", max_prune_time: "remove it",
      max_age: "use `expires_in: SECONDS`", ttl: "use `expires_in: SECONDS`", expiry: "use `expires_in: SECONDS`",
      expires: "use `expires_in: SECONDS`", expires_after: "use `expires_in: SECONDS`",
      threadsafe: "remove it: every store is thread-safe", logger: "set `Rails.cache.logger` or `config.logger`",
      compression_min_size: "use `compress_threshold: BYTES`",
      value_max_bytes: "set it in the server: `memcached -I 4m`",
    }.freeze

    # Names of other stores that users write in place of a URL.
    STORES = {
      "memory_store" => "memory:", "null_store" => "null:", "file_store" => "file:DIR",
      "mem_cache_store" => "memcached://HOST:11211", "redis_cache_store" => "redis://HOST:6379/0",
      "solid_cache_store" => "sqlite:PATH", "litecache" => "sqlite:PATH", "memory" => "memory:", "null" => "null:",
      "file" => "file:DIR", "sqlite" => "sqlite:PATH", "shared" => "shared:NAME", "redis" => "redis://HOST:6379/0",
      "memcached" => "memcached://HOST:11211",
    }.freeze
    # Servers as :mem_cache_store accepts them. A name without a port could be a scheme.
    HOST_AND_PORT = /\A([\w-]+(?:\.[\w-]+)*):\d+(?:[,:]|\z)/
    # The usual ports of Redis, its TLS and Sentinel.
    REDIS_PORT = /:(?:6379|6380|26379)(?:,|\z)/
    private_constant :STORES, :HOST_AND_PORT, :REDIS_PORT

    # @param text [String] an invalid URL, without passwords
    # @return [String] " (did you mean ...?)", or ""
    def self.for_url(text)
      meant = STORES[text.delete_suffix(":")]
      meant ||= server_url(text) if host_and_port?(text)
      meant ||= "file:#{text}" if text.match?(%r{\A[\w.~/-]*/[\w./-]*\z})
      meant ? " (did you mean #{meant.inspect}?)" : ""
    end

    # @param text [String]
    # @return [Boolean] whether it is a host and port without a scheme
    def self.host_and_port?(text) = (host = text[HOST_AND_PORT, 1]) ? !STORES.key?(host) : false

    def self.server_url(text)
      return "memcached://#{text}" unless text.match?(REDIS_PORT)
      text.include?(",") ? "redis+cluster://#{text}" : "redis://#{text}/0"
    end
    private_class_method :server_url

    # Options of a store with tiers.
    TIERS = {
      ttl: "use `expires_in: SECONDS` for entries; set the lifetime of near copies in the near tier's URL: " \
           "\"shared:?ttl=30\"",
      bus: "set it in the near tier's URL: \"shared:?bus=false\""
    }.freeze
    # Options in the URL of a near tier.
    NEAR = { expires_in: "use `ttl=SECONDS` for a near tier's copies, and the keyword `expires_in: SECONDS` " \
                         "for the store's entries" }.freeze
    private_constant :TIERS, :NEAR

    # @param unknown [Array<Symbol>]
    # @param known [Array<Symbol>]
    # @param tiers [Boolean] whether the store has several tiers
    # @param near [Boolean] whether the options are in the URL of a near tier
    # @return [String] sentences, each after a space; "" without a suggestion
    def self.for(unknown, known, tiers: false, near: false)
      habits = HABITS.merge(tiers ? TIERS : {}, near ? NEAR : {})
      unknown.uniq.filter_map { |name| hint(name, known, habits) }.join
    end

    # @param name [Symbol, String]
    # @param known [Array<Symbol, String>]
    # @return [String] " (did you mean ...?)", or ""
    def self.did_you_mean(name, known)
      near = nearest(name, known)
      near ? " (did you mean #{near}?)" : ""
    end

    def self.nearest(name, known)
      DidYouMean::SpellChecker.new(dictionary: known.map(&:to_s)).correct(name.to_s).first
    end
    private_class_method :nearest

    def self.hint(name, known, habits)
      habit = habits[name]
      habit ||= "the store's, and no backend's: give it as a keyword" if known.include?(name)
      return ". #{name}: #{habit}" if habit
      near = nearest(name, known)
      ". #{name}: did you mean #{near}?" if near
    end
    private_class_method :hint
  end
end
