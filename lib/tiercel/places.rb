# frozen_string_literal: true

require_relative "backend"
require_relative "backend_url"
require_relative "backends"
require_relative "errors"
require_relative "extensions"
require_relative "option_hints"
require_relative "test_worker"

module Tiercel
  # The places that the URLs of a store name, nearest first: which can be which tier, whose an option is, and what is
  # built of them. One URL is one backend; several are {Tiers}.
  #
  # @private
  class Places
    # One of them.
    Place = Struct.new(:url, :backend_class, :tier) do
      # @return [Array<Symbol>] that its URL may have
      def option_names = tier ? [*backend_class.option_names, :ttl, :bus] : backend_class.option_names
    end

    # Near tiers, by how far their processes are apart.
    NEAR = { "memory" => 0, "shared" => 1 }.freeze
    # Backends that cannot be the last tier.
    NEVER_LAST = %w[memory null].freeze
    ONE_URL = "Several servers are one URL: \"memcached://HOST:PORT,HOST:PORT\", " \
              "\"redis+cluster://HOST:PORT,HOST:PORT\""
    ON_DISK = %w[sqlite file].freeze
    # Places that send the changes of keys with one prefix.
    WITH_PREFIX = /\A(rediss?|unix)\z/
    private_constant :NEAR, :NEVER_LAST, :ONE_URL, :ON_DISK, :WITH_PREFIX

    # @return [Array<Place>]
    attr_reader :all

    # @param urls [Array<String, Symbol>] none means "shared:"
    # @raise [ConfigurationError]
    def initialize(urls)
      urls.each { |url| BackendURL.refuse_mistaken(url) }
      urls = ["shared:"] if urls.empty?
      parsed = parse(urls)
      check_order(parsed) if parsed.size > 1
      @all = parsed.each_with_index.map do |url, index|
        Place.new(url, Backends::REGISTRY.fetch(url.scheme), index < parsed.size - 1)
      end
    end

    # @return [BackendURL] of the last one, where everything is
    def url = all.last.url

    # @return [Array<Symbol>] of options that one of the backends knows
    def option_names = all.flat_map { |place| place.backend_class.option_names }.uniq

    # @param options [Hash{Symbol => Object}] of the store
    # @raise [ConfigurationError] for one that several of the backends know
    def check_owners(options)
      options.each_key do |name|
        owners = all.select { |place| place.backend_class.option_names.include?(name) }
        next if owners.size < 2
        raise ConfigurationError, "#{name}: is it for #{owners.map(&:url).join(" or for ")}? Say it in the URL of " \
                                  "the tier that it is for: \"#{owners.first.url}?#{name}=...\""
      end
    end

    # @param options [Hash{Symbol => Object}] of the store
    # @param memo [Hash] of a place that has one, unless the options say otherwise
    # @return [Backend]
    def build(options, memo = {})
      load_tiers if all.size > 1
      places = all.reject { |place| superfluous?(place) || left_out?(place, options) }
      backends = places.map { |place| build_place(place, options, memo) }
      bus = places.size > 1 && bus?(backends.last)
      watched = watched?(backends)
      nears = places.zip(backends)[0...-1].map do |place, backend|
        near(place, backend, bus || watched, options[:inflate_limit])
      end
      join(nears, backends.last) if bus
      nears.first.bus = Tiers::Watch.new(backends.last, nears.first) if watched
      nears.reverse.inject(backends.last) { |far, near| Tiers.new(near, far, behind(options)) }
    end

    # @return [String] without passwords
    def to_s = all.map(&:url).join(" > ")

    private

    # A store over one backend needs none of this.
    def load_tiers = require_relative("tiers")

    def parse(urls)
      urls.map { |url| BackendURL.parse(url) }
    rescue ConfigurationError => error
      raise if urls.size < 2
      raise ConfigurationError, "#{error.message}. #{ONE_URL}"
    end

    # In a process that tests run in, shared: would be a second memory:.
    def superfluous?(place)
      TestWorker.number && place.tier && place.url.scheme == "shared" && all.first.url.scheme == "memory"
    end

    # Without the C extension there is no near tier.
    def left_out?(place, options)
      return false if !place.tier || Extensions.load("segment")
      require_relative "backends/shared_missing"
      Backends::SharedMissing.leave_out(place.url, options.slice(:on_unavailable).merge(place.url.options))
      true
    end

    def build_place(place, options, memo)
      names = place.backend_class.option_names
      own = options.slice(*names).merge(place.url.options.except(*(%i[ttl bus] if place.tier)))
      own = memo.merge(own) if names.include?(:memo)
      own[:behind] = heard(options) if place.tier && place.url.scheme == "shared"
      url, own = TestWorker.place(place.url, own)
      return place.backend_class.build(url, own) if url.equal?(place.url)
      Backends::REGISTRY.fetch(url.scheme).build(url, own)
    end

    # Copies of one place are not to be found by a stack over another, nor by a store that has the segment alone.
    def behind(options)
      return database(options) unless ON_DISK.include?(url.scheme)
      path = ::File.expand_path(url.place)
      path = ::File.realdirpath(path) if ::File.directory?(::File.dirname(path))
      "#{url.scheme}:#{path}"
    rescue SystemCallError # a link to nowhere
      "#{url.scheme}:#{path}"
    end

    # The keys that a segment's listeners hear of: over Redis those of one namespace.
    def heard(options)
      namespace = options[:namespace]
      return behind(options) if namespace.nil? || namespace.respond_to?(:call) || !WITH_PREFIX.match?(url.scheme)
      "#{behind(options)} #{namespace}:"
    end

    # However the number of Redis' database is said.
    def database(options)
      [url.to_s.chomp("/"), url.options[:db] || options[:db]].compact.join("/").delete_suffix("/0")
    end

    # An application that runs its tests in several processes has no other machines.
    def bus?(last)
      said = all.select(&:tier).map { |place| switch(place) }.compact
      return said.all? && !TestWorker.number if last.subscribable?
      return false unless said.include?(true)
      raise ConfigurationError, "bus: #{last} does not tell of changes: leave bus= away"
    end

    # Copies of one file, in one segment. Where there are more, each of them lives a second at most.
    def watched?(backends)
      near, last, more = backends
      last.respond_to?(:others_since) && more.nil? && near.respond_to?(:segment) && !near.segment.path.nil? &&
        switch(all.first) != false
    end

    def switch(place)
      given = place.url.options[:bus]
      return given.nil? ? nil : given.to_s == "true" if [nil, "true", "false"].include?(given&.to_s)
      raise ConfigurationError, "bus: expected true or false in #{place.url}?bus=..., got #{Redacted.text(given)}"
    end

    def join(nears, last)
      bus = Tiers::Bus.new(last, nears)
      nears.each { |near| near.bus = bus }
    end

    def near(place, backend, bus, inflate_limit)
      return Tiers::Near.new(backend, ttl: ttl(place), bus:, inflate_limit:) if backend.respond_to?(:segment)
      raise ConfigurationError, "#{place.url} in front of #{url}: a near tier needs Tiercel's C extension, and a " \
                                "size of 1 MB or more"
    end

    def ttl(place)
      given = place.url.options[:ttl] or return
      seconds = Float(given, exception: false)
      return seconds if seconds&.positive? && seconds.finite?
      raise ConfigurationError, "ttl: expected seconds > 0 in #{place.url}?ttl=..., got #{Redacted.text(given)}"
    end

    def check_order(urls)
      *near, last = urls
      far = near.find { |url| !NEAR.key?(url.scheme) }
      if far
        raise ConfigurationError, "#{far} in front of #{urls[urls.index(far) + 1]}: only memory: and shared: can " \
                                  "be a near tier. Tiers are named nearest first. #{ONE_URL}"
      end
      if NEVER_LAST.include?(last.scheme)
        raise ConfigurationError, "#{last} as the last of #{urls.size} tiers: everything is in the last one, so it " \
                                  "has to be one that all processes share"
      end
      wrong = urls.each_cons(2).find { |one, other| (NEAR[other.scheme] || 2) <= NEAR[one.scheme] } or return
      raise ConfigurationError, "#{wrong.join(" in front of ")}: expected memory: (of one process) before shared: " \
                                "(of one machine), each of them once, and what is farther after them"
    end
  end
end
