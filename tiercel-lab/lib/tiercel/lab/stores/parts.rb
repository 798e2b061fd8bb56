# frozen_string_literal: true

module Tiercel::Lab
  module Contestants
    # A serializer without a store: `serializer:marshal`.
    define "serializer", kind: :serializer, internal?: true do
      def check = library

      def initialize(text:, name: text, **)
        super
        @name = place if name == text
      end

      def library = Serialization.fetch(place)

      # A library may load more when it is built, such as Active Record.
      def load_gems = library.build

      def build(_context) = library.build

      def tear_down(_subject, _names); end

      def stored_bytes(subject, _name, value) = subject.dump(value).bytesize
    end

    # A compressor without a store: `compressor:zstd`, `compressor:zstd#level=9`. Marshal serializes its payloads;
    # `compressor:zstd#serializer=auto` names another serializer.
    define "compressor", kind: :compressor, internal?: true do
      def check = library

      def initialize(text:, name: text, **)
        super
        return unless name == text
        @name = [place, options[:level], ("of #{options[:serializer]}" if options[:serializer])].compact.join(" ")
      end

      def build(_context) = library.build(**options.except(:serializer))

      # Serializes each value once: reading a record may change its serialized form.
      def payload(value) = (@payloads ||= {}.compare_by_identity)[value] ||= serialize(value)

      def tear_down(_subject, _names); end

      def stored_bytes(subject, _name, value) = subject.deflate(payload(value)).bytesize

      private

      # A String is its own payload; Marshal serializes other values.
      def serialize(value)
        return value.is_a?(String) ? value.b : Marshal.dump(value) unless options[:serializer]
        (@serializer ||= Serialization.fetch(options[:serializer]).build).dump(value).b
      end

      def library = Compression.fetch(place)
    end

    # A store with any serializer and compressor: `combined:mem_cache_store#serializer=auto,compressor=zstd`.
    define "combined", internal?: true do
      def check = [library, compressor, inner]

      def initialize(text:, name: text, **)
        super
        @name = "#{place} #{library.name} #{compressor.name}" if name == text
      end

      def library = Serialization.fetch(options.fetch(:serializer, Serialization::BASELINE))

      def compressor = Compression.fetch(options.fetch(:compressor, "none"))

      def inner = @inner ||= Contestants.parse(place)

      %i[medium clock servers gems bundle foreign? keeps?].each do |fact|
        define_method(fact) { inner.public_send(fact) }
      end

      # A library may load more when it is built, such as Active Record.
      def load_gems = [inner.load_gems, library.build, compressor.build]

      # A serializer that cannot load records must fail while it is built. Otherwise the store would report a miss.
      def build(context)
        inner.class.new(text: place, place: inner.place, options: inner.options.merge(layers)).build(context)
      end

      def tear_down(subject, names) = inner.tear_down(subject, names)

      def stored_bytes(subject, name, value) = inner.stored_bytes(subject, name, value)

      def describe
        super.merge("store" => place, "serializer" => library.name, "compressor" => compressor.name)
      end

      private

      # Tiercel uses its own form of a serializer or compressor, if it has one.
      def layers
        own = place.start_with?("tiercel")
        serializer = library.build # loads its own requirements
        squeezed = compressor.name != "none"
        { serializer: (TIERCEL_SERIALIZERS[library.name] if own) || serializer, compress: squeezed,
          **(squeezed ? { compressor: (TIERCEL_COMPRESSORS[compressor.name] if own) || compressor.build } : {}) }
      end
    end

    TIERCEL_SERIALIZERS = { "marshal" => :marshal, "auto" => :auto, "as_message_pack" => :message_pack,
                            "as_json" => :as_json }.freeze
    TIERCEL_COMPRESSORS = { "zlib" => :zlib, "brotli" => :brotli, "zstd" => :zstd, "snappy" => :snappy,
                            "lz4_flex" => :lz4 }.freeze

    # A value, serialized and compressed, through a raw socket:
    # `wire:memcached#serializer=auto,compressor=zstd`.
    define "wire", like: RawContestant, kind: :wire, places: %w[memcached redis], internal?: true do
      def initialize(text:, name: text, **)
        super
        @name = "wire #{place} #{options[:serializer]} #{options[:compressor]}" if name == text
      end

      def servers = [place.to_sym]

      def payload(value)
        @serializer ||= Serialization.fetch(options.fetch(:serializer)).build
        @compressor ||= Compression.fetch(options.fetch(:compressor)).build
        @compressor.deflate(@serializer.dump(value).b).b
      end

      def stored_bytes(_subject, _name, value) = payload(value).bytesize

      def describe
        super.merge("store" => place, "serializer" => options[:serializer], "compressor" => options[:compressor])
      end
    end

    # A client without a store: bytes under keys. `#version=3.2` takes another version of the gem, and
    # `#bundle=/path/to.gemfile` a bundle of the user.
    class Client < Contestant
      facts kind: :client, medium: :loopback, servers: %i[memcached], places: [""]

      OWN = %i[version bundle].freeze
      # All clients have the same long timeout, so that a busy machine causes no errors.
      PATIENCE_SECONDS = 5

      def bundle
        options[:bundle] || ("#{text[/\A\w+/]}_#{options[:version]}" if options[:version])
      end

      def build(context) = connect(context.server(servers.first).fetch("url"), **options.except(*OWN))

      # Keys stay, because the server ends with the run.
      def tear_down(subject, _names) = subject.close

      private

      def addresses(url) = url[%r{//([^/]+)}, 1].split(",")
    end

    define "dalli", like: Client, gems: %w[dalli] do
      def connect(url, **options)
        Clients::DalliClient.new(addresses(url), value_max_bytes: 8 * 1024 * 1024,
                                                        socket_timeout: Client::PATIENCE_SECONDS, **options)
      end
    end

    # `#driver=:hiredis` takes the driver of the gem hiredis-client.
    define "redis_client", like: Client, servers: %i[redis] do
      def gems = ["redis-client", *("hiredis-client" if options[:driver] == :hiredis)]

      def connect(url, **options)
        Clients::RedisClientGem.new(url, timeout: Client::PATIENCE_SECONDS, **options)
      end
    end

    define "redis_gem", like: Client, gems: %w[redis], servers: %i[redis] do
      def connect(url, **options)
        Clients::RedisGem.new(url, timeout: Client::PATIENCE_SECONDS, **options)
      end
    end

    BELOW_STORE = { "memcached" => :memcached, "redis" => :redis }.freeze

    # A backend of Tiercel, without its store.
    define "backend", like: Client, gems: %w[tiercel], places: BELOW_STORE.keys do
      def servers = [BELOW_STORE.fetch(place)]

      def connect(url, **options)
        handler = ->(exception:, **) { raise exception }
        ::Tiercel.new(url, error_handler: handler, timeout: Client::PATIENCE_SECONDS, **options).backend
      end
    end

    # A raw socket, without a client.
    define "raw", like: "backend", gems: [] do
      def connect(url, **options)
        (place == "redis" ? RawSocket::Redis : RawSocket::Memcached).new(addresses(url).first, **options)
      end
    end

    # Contestants of gates that are not stores. `benchmark:NAME?clock=cpu&servers=redis` is a benchmark of the user,
    # with a form-encoded name. The benchmark finds its servers in the environment variables that their clients read.
    # `reference_work` is a fixed amount of work. Histories divide by its time, because a faster machine speeds up both.
    define("reference_work", kind: :benchmark, internal?: true) do
      def build(_context)
        block = ->(_subject) { (1..40).to_h { |number| [number.to_s, number.to_s * 8] }.sort_by(&:last).first }
        Benchmarks::Ready.new(
          Benchmark.new(name: "reference work", setup: nil, expect: nil, clock: :cpu, block:), nil
        )
      end

      def tear_down(_subject, _names) = nil
    end

    define("benchmark", kind: :benchmark, internal?: true) do
      def medium = facts["clock"] == "wall" ? :loopback : :process

      def servers = facts.fetch("servers", "").split(",").map(&:to_sym)

      def build(context)
        ENV["REDIS_URL"] = context.server(:redis).fetch("url") if servers.include?(:redis)
        ENV["MEMCACHE_SERVERS"] = context.server(:memcached).fetch("address") if servers.include?(:memcached)
        Benchmarks.ready(benchmark_name)
      end

      def tear_down(_subject, _names) = nil

      def benchmark_name = URI.decode_www_form_component(place[/\A[^?]*/])

      private

      def facts = URI.decode_www_form(place[/\?(.*)/, 1].to_s).to_h
    end
  end
end
