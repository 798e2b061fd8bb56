# frozen_string_literal: true

module Tiercel::Lab
  # A store that takes part in a comparison: its name, its requirements, and how a worker process builds it.
  #
  # Its text is `TYPE[:PLACE][#OPTION=VALUE,...]`:
  #
  #   memory_store
  #   mem_cache_store#compress=false
  #   file_store:/mnt/nfs/cache
  #   tiercel:redis://cache:6379/0#serializer=:message_pack
  #
  # The parent process parses the text to plan and to start servers. The worker parses the same text again and builds
  # the store. A contestant's file is therefore loaded in both processes, and requires its gems in {#build} only.
  #
  # @abstract Subclasses implement {#build}; {Contestants.define} declares the rest.
  class Contestant
    # Defaults, which a declaration may override:
    #
    # - `kind`: the kind of object that it builds; :store is one with Rails' cache API. Operations name the kind that
    #   they time
    # - `medium`: :process, :loopback, :disk or :remote; decides margin and noise floor
    # - `gems`: gems for {#build}
    # - `servers`: servers that the lab starts for it (:memcached, :redis, ...)
    # - `bundle`: a gemfile of the lab's gemfiles/, or its path; contestants with the same bundle share a worker; nil:
    #   the lab's bundle
    # - `keeps?`: false for a store that keeps nothing; its reads are not verified, and do not compare as hits
    # - `foreign?`: whether it uses the user's server or folder; its names have a prefix, and are deleted one by one
    # - `tiers`: URLs, nearest first; with several, a store is warm when its near tiers have all keys
    # - `internal?`: whether help leaves it out
    # - `places`: allowed words after the type's colon ("": none); nil: any
    FACTS = { kind: :store, medium: :process, gems: [], servers: [], bundle: nil, keeps?: true, foreign?: false,
              tiers: [], internal?: false, places: nil }.freeze

    # @param facts [Hash{Symbol => Object}] facts with the names in {FACTS}
    def self.facts(facts) = facts.each { |name, fact| define_method(name) { fact } }

    facts(FACTS)

    # @return [String] the contestant's text
    attr_reader :text
    # @return [String] its name in tables
    attr_reader :name
    # @return [String] the part after the type's colon, or ""
    attr_reader :place
    # @return [Hash{Symbol => Object}] options of the store
    attr_reader :options

    def initialize(text:, name: text, place: "", options: {})
      @text = text
      @name = name
      @place = place
      @options = options
    end

    # The clock of its cells. A store that never waits uses the CPU time of its process, because the wall clock
    # includes the time of other programs. A store that waits for a server or a disk uses the wall clock. The results
    # contain both.
    #
    # @return [Symbol] :cpu or :wall
    def clock = medium == :process ? :cpu : :wall

    # Refuses a place that this type of store does not have. The parser calls this method, so that every planned
    # contestant can be built.
    #
    # @raise [UsageError]
    def check
      return if places.nil? || places.include?(place)
      type = text[/\A(?:[\w.-]+=)?(\w+)/, 1]
      forms = places.map { |known| known.empty? ? type : "#{type}:#{known}" }
      raise UsageError, "store #{text.inspect}: expected #{forms.join(" or ")}"
    end

    # @param context [Engine::Context] servers, folders and limits
    # @return [Object] the built store
    def build(context) = raise(NotImplementedError)

    # Waits until background work of the store has started.
    #
    # @return [void]
    def wait_until_ready(_subject) = nil

    # Wraps the writes that fill the store, before the first read.
    #
    # @param _names [Integer]
    # @return [Object] the block's value
    def filling(_subject, _names) = yield

    # Releases the resources of {#build}. On the user's servers and in the user's folders it deletes only the arm's
    # names.
    #
    # @param names [Array<Object>] names that the store may contain
    def tear_down(subject, names)
      return subject.delete_multi(names) if foreign? || servers.any?
      subject.clear if subject.respond_to?(:clear)
    end

    # @param _name [String] the name of the written `value`
    # @return [Integer, nil] stored bytes of the value, without the medium's overhead; nil if unknown
    def stored_bytes(subject, _name, value)
      return nil unless kind == :store && subject.respond_to?(:serialize_entry, true)
      merged = subject.send(:merged_options, nil)
      subject.send(:serialize_entry, ActiveSupport::Cache::Entry.new(value), **merged).bytesize
    end

    # @return [String, nil] the line for an application's configuration
    def configuration = nil

    # @return [Hash{String => Object}] the form of the results file
    def describe
      line = configuration
      { "text" => text, "name" => name, "medium" => medium.to_s, "bundle" => bundle, "gems" => gems,
        "servers" => servers.map(&:to_s), **(keeps? ? {} : { "keeps" => false }),
        **(line ? { "configuration" => line } : {}) }
    end

    # Loads the libraries for {#build}. Each worker does so once, before it forks a process for each arm.
    #
    # @raise [CannotRun]
    def load_gems
      gems.each { |gem| Tiercel::Lab.load_gem(gem) }
    end

    private

    # An assignment of several values takes options only in braces.
    def configuration_line(*words, **more)
      pairs = more.merge(options).map { |key, value| "#{key}: #{value.inspect}" }
      words << "{ #{pairs.join(", ")} }" if pairs.any?
      "config.cache_store = #{words.join(", ")}"
    end
  end

  # Parses the options after a contestant's "#": `compress=false,compressor=:zstd,size=64MB`.
  module StoreOptions
    LITERALS = { "true" => true, "false" => false, "nil" => nil }.freeze

    module_function

    # @param text [String] "" for none
    # @return [Hash{Symbol => Object}] true, false, nil, Integers, Floats, Symbols (":name"), otherwise Strings
    # @raise [UsageError]
    def parse(text)
      text.split(",").to_h do |pair|
        key, value = pair.split("=", 2)
        unless value && key.match?(/\A\w+\z/)
          raise UsageError, "store option #{pair.inspect}: expected OPTION=VALUE, such as compress=false"
        end
        [key.to_sym, cast(value)]
      end
    end

    def cast(value)
      case value
      when *LITERALS.keys then LITERALS.fetch(value)
      when /\A-?\d+\z/ then value.to_i
      when /\A-?\d+\.\d+\z/ then value.to_f
      when /\A:\w+\z/ then value.delete_prefix(":").to_sym
      else value
      end
    end
    private_class_method :cast
  end

  # The lab's contestants, by type. {define} declares one, also in a file of `--require`:
  #
  #   Tiercel::Lab::Contestants.define("my_store", gems: %w[my_cache]) do
  #     def build(context) = MyCache::Store.new(path: context.directory("disk"), **options)
  #   end
  module Contestants
    @types = {}

    # Rails' stores and Tiercel.
    DEFAULT = %w[memory_store file_store:tmpfs file_store:disk mem_cache_store redis_cache_store tiercel].freeze
    # The grammar of a contestant. Several Tiercel URLs, separated by spaces, are tiers.
    FORM = /\A(?:(?<name>[\w.-]+)=)?(?<type>\w+)(?::(?<place>[^#]*))?(?:#(?<options>.*))?\z/
    # Rails' store for a URL without a type.
    URL_TYPES = { "memcached" => "mem_cache_store", "redis" => "redis_cache_store",
                  "rediss" => "redis_cache_store" }.freeze
    # URLs of Tiercel alone.
    TIERCEL_SCHEMES = %w[shared memory sqlite file].freeze
    # A socket's path, or a host name of this machine, after any scheme and user.
    LOCAL = %r{\A(?:\w+:)?(?:/(?!/)|(?://)?(?:[^@/]*@)?(?:localhost|127(?:\.\d+){3}|\[?::1\]?)(?:[:/,?]|\z))}

    class << self
      # @param type [String]
      # @param like [String, Class] the type or class that this one varies
      # @param facts [Hash{Symbol => Object}] the {Contestant::FACTS} that differ
      # @yield the class's body: `build`, and methods that depend on place or options
      # @return [Class<Contestant>]
      def define(type, like: Contestant, **facts, &body)
        parent = like.is_a?(String) ? @types.fetch(like) : like
        register(type, Class.new(parent) do
          self.facts(facts)
          class_eval(&body) if body
        end)
      end

      # @param contestant_class [Class<Contestant>]
      def register(type, contestant_class) = @types[type] = contestant_class

      # @param text [String] [NAME=]TYPE[:PLACE][#OPTIONS], [NAME=]URL, or for tiers [NAME=]URL URL[#OPTIONS]
      # @param checks [Boolean] whether to check that it can be built here
      # @return [Contestant]
      # @raise [UsageError] if the form is wrong, the type is unknown, or the check fails
      def parse(text, checks: true)
        match = FORM.match(text) or raise UsageError, malformed(text)
        type, place = type_and_place(match)
        contestant = @types[type] or raise UsageError, Catalogue.unknown("store", text, shown)
        options = StoreOptions.parse(match[:options].to_s)
        contestant.new(text:, name: match[:name] || text, place:, options:).tap { |made| made.check if checks }
      end

      # @return [Array<String>] the types, for help and messages
      def shown
        types = @types.reject { |_type, contestant| contestant.allocate.internal? }.keys
        (DEFAULT + types + ["tiercel:URL", "tiercel:URL URL", "file_store:DIR"]).uniq
      end

      # @param place [String] address or URL; "" is a server of the lab
      # @return [Symbol] :loopback or :remote
      def distance(place) = place.empty? || place.match?(LOCAL) ? :loopback : :remote

      private

      def malformed(text)
        several = " Each store needs a --store of its own." if text.include?(",")
        "store #{text.inspect}: expected TYPE[:PLACE][#OPTION=VALUE,...], or tiers such as \"shared: redis:\"." \
          "#{several} Types: #{shown.join(", ")}"
      end

      def type_and_place(match)
        place = match[:place].to_s
        return ["tiercel", "#{match[:type]}:#{place}"] if match[:place] && TIERCEL_SCHEMES.include?(match[:type])
        rails_store = URL_TYPES[match[:type]] if place.start_with?("//")
        return [match[:type], place] unless rails_store
        [rails_store, rails_store == "mem_cache_store" ? place.delete_prefix("//") : "#{match[:type]}:#{place}"]
      end
    end

    # A Hash in each process. The size is raised, because the default of 32 MB would prune in some cells, and tables
    # compare the cost of calls.
    define "memory_store", places: [""] do
      def build(context) = ActiveSupport::Cache::MemoryStore.new(size: context.capacity_bytes, **options)
      def configuration = configuration_line(":memory_store")
    end

    # The cost of Rails' code around a store.
    define "null_store", keeps?: false, places: [""] do
      def build(_context) = ActiveSupport::Cache::NullStore.new(**options)
      def stored_bytes(*) = 0
    end

    # Rails' FileStore: on a tmpfs (in memory, so no call waits for a disk), on a disk, or in the user's folder, such as
    # an NFS mount.
    define "file_store" do
      def medium = place == "tmpfs" ? :process : :disk

      def check
        return if place.empty? || %w[tmpfs disk].include?(place)
        unless place.start_with?("/", ".", "~")
          raise UsageError, "store #{text.inspect}: expected file_store:tmpfs, file_store:disk or file_store:DIR"
        end
        Folder.check("store #{text.inspect}", place)
      end

      def build(context) = ActiveSupport::Cache::FileStore.new(context.directory(place), **options)

      def configuration
        own = %w[tmpfs disk].include?(place) || place.empty?
        configuration_line(":file_store", (own ? "tmp/cache" : place).inspect)
      end
    end

    # Uses dalli with a memcached that the lab starts, or with HOST:PORT[,HOST:PORT].
    define "mem_cache_store", gems: %w[dalli] do
      def medium = Contestants.distance(place)
      def servers = foreign? ? [] : %i[memcached]
      def foreign? = !place.empty?

      # memcached refuses larger values, so the lab starts its own with room for all values. Dalli checks the size
      # before it sends.
      def build(context)
        addresses = foreign? ? place.split(",") : [context.server(:memcached).fetch("address")]
        ActiveSupport::Cache::MemCacheStore.new(*addresses, value_max_bytes: 8 * 1024 * 1024, **options)
                                           .tap { |store| ask(store) if foreign? }
      end

      # Rails' store turns every failure into a miss or a refused write, which would count as a fault of the store.
      def ask(store)
        silent = store.stats.reject { |_server, facts| facts }.keys
        raise CannotRun, "#{silent.join(", ")} does not answer" if silent.any?
      end

      def configuration = configuration_line(":mem_cache_store", (foreign? ? place : "HOST:11211").inspect)
    end

    # Rails' MemCacheStore with the default sizes of server and client: 64 MB of memory, items of at most 1 MB. Larger
    # values are refused, so their reads miss.
    define "mem_cache_store_as_shipped", like: "mem_cache_store", servers: %i[memcached_as_shipped], places: [""],
                                         medium: :loopback, foreign?: false do
      def build(context)
        ActiveSupport::Cache::MemCacheStore.new(context.server(:memcached_as_shipped).fetch("address"), **options)
      end
    end

    # MemCacheStore over the next release of dalli, from its repository.
    define "mem_cache_store_dalli_main", like: "mem_cache_store", bundle: "dalli_main", places: [""]

    # Uses a Redis that the lab starts, or a redis:// URL. A failed read raises an error here instead of counting as a
    # miss.
    define "redis_cache_store", gems: %w[redis] do
      def medium = Contestants.distance(place)
      def servers = foreign? ? [] : %i[redis]
      def foreign? = !place.empty?

      def build(context)
        url = foreign? ? place : context.server(:redis).fetch("url")
        ActiveSupport::Cache::RedisCacheStore.new(url:, error_handler: ->(exception:, **) { raise exception },
                                                  **options)
      end

      def configuration
        configuration_line(":redis_cache_store", url: foreign? ? place : "redis://HOST:6379/0")
      end
    end

    # Litecache of the gem litestack with its defaults, or with the pragmas of the other contestants
    # (`litecache:equal`: synchronous NORMAL; WAL and 128 MB of mmap are its defaults). The gem sets Rails' cache
    # format to 7.0 for the whole process, as in applications that use it.
    define "litecache", medium: :disk, gems: %w[litestack], bundle: "litecache", places: ["", "equal"] do
      def build(context)
        require "active_support/cache/litecache"
        folder = context.directory("disk")
        ActiveSupport::Cache::Litecache.new(path: File.join(folder, "litecache.sqlite3"),
                                            config_path: File.join(folder, "none.yml"), size: context.capacity_bytes,
                                            **(place == "equal" ? { sync: 1 } : {}), **options)
      end

      def configuration = configuration_line(":litecache")
    end

    # A known amount of work (`steps:2000`), which the lab's figures must show. Options add costs that only few calls
    # or only the collector have:
    #
    # - `pause_ms`: in every `every`-th read, as CPU work, or asleep with `asleep=true`
    # - `garbage`: objects that a read allocates; `kept`: objects that the store keeps
    define "steps", internal?: true do
      def check
        return if place.match?(/\A[1-9]\d*\z/)
        raise UsageError, "#{text}: expected a number of steps, such as steps:2000"
      end

      def build(_context) = CountingStore.new(Integer(place), **options)
    end

    # The simplest store that an operation can use: a Hash that counts down before each read.
    class CountingStore
      def initialize(steps, every: nil, pause_ms: 60, asleep: false, garbage: 0, kept: 0)
        @steps = steps
        @data = {}
        @every, @pause, @asleep, @reads = every, pause_ms / 1e3, asleep, 0
        @garbage = garbage
        @kept = Array.new(kept) { |index| "object #{index}" }
      end

      def write(name, value, **) = @data[name] = value

      def clear(*) = @data.clear

      def read(name)
        left = @steps
        left -= 1 while left.positive?
        Array.new(@garbage) { +"garbage" } if @garbage.positive?
        pause if @every && ((@reads += 1) % @every).zero?
        @data[name]
      end

      private

      def pause
        return sleep(@pause) if @asleep
        until_ns = cpu_ns + (@pause * 1e9)
        nil while cpu_ns < until_ns
      end

      def cpu_ns = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :nanosecond)
    end
  end
end

require_relative "stores/raw_socket"
require_relative "stores/tiercel"
require_relative "stores/solid_cache"
require_relative "stores/parts"
