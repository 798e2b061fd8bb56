# frozen_string_literal: true

require_relative "catalogue"
require_relative "folder"
require_relative "stores/contestant"
require_relative "stores/options"

module Tiercel
  module Lab
    # The contestants that the lab knows, by type. {define} declares one; so does a file that is given to `--require`:
    #
    #   Tiercel::Lab::Contestants.define("my_store", gems: %w[my_cache]) do
    #     def build(context) = MyCache::Store.new(path: context.directory("disk"), **options)
    #   end
    module Contestants
      @types = {}

      # The stores that Rails users know, and Tiercel.
      DEFAULT = %w[memory_store file_store:tmpfs file_store:disk mem_cache_store redis_cache_store tiercel].freeze
      # Several URLs of Tiercel, with spaces between, are tiers.
      FORM = /\A(?:(?<name>[\w.-]+)=)?(?<type>\w+)(?::(?<place>[^#]*))?(?:#(?<options>.*))?\z/
      # Which Rails store speaks to a URL that is given without a type.
      URL_TYPES = { "memcached" => "mem_cache_store", "redis" => "redis_cache_store",
                    "rediss" => "redis_cache_store" }.freeze
      # URLs that only Tiercel knows.
      TIERCEL_SCHEMES = %w[shared memory sqlite file].freeze
      # A socket's path, or a host that is this one, behind whatever scheme and user.
      LOCAL = %r{\A(?:\w+:)?(?:/(?!/)|(?://)?(?:[^@/]*@)?(?:localhost|127(?:\.\d+){3}|\[?::1\]?)(?:[:/,?]|\z))}

      class << self
        # @param type [String]
        # @param like [String, Class] a type or class that it is a variant of
        # @param facts [Hash{Symbol => Object}] of {Contestant::FACTS} that differ from its
        # @yield the class's body: `build`, and what depends on place or options
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

        # @param text [String] [NAME=]TYPE[:PLACE][#OPTIONS], [NAME=]URL, or of Tiercel's tiers [NAME=]URL URL[#OPTIONS]
        # @return [Contestant]
        # @raise [UsageError] if it is not of that form, the type is not known, or it could not be built anywhere
        def parse(text)
          match = FORM.match(text)
          unless match
            raise UsageError, "store #{text.inspect}: expected TYPE[:PLACE][#OPTION=VALUE,...], or tiers such as " \
                              "\"shared: redis:\". Types: " \
                              "#{shown.join(", ")}"
          end
          type, place = type_and_place(match)
          contestant = @types[type] or raise UsageError, Catalogue.unknown("store", text, shown)
          contestant.new(text:, name: match[:name] || text, place:, options: StoreOptions.parse(match[:options].to_s))
        end

        # @return [Array<String>] for help and messages
        def shown
          types = @types.reject { |_type, contestant| contestant.allocate.internal? }.keys
          (DEFAULT + types + ["tiercel:URL", "tiercel:URL URL", "file_store:DIR"]).uniq
        end

        # @param place [String] address or URL; "" is a server of the lab's own
        # @return [Symbol] :loopback or :remote
        def distance(place) = place.empty? || place.match?(LOCAL) ? :loopback : :remote

        private

        def type_and_place(match)
          place = match[:place].to_s
          return ["tiercel", "#{match[:type]}:#{place}"] if match[:place] && TIERCEL_SCHEMES.include?(match[:type])
          rails_store = URL_TYPES[match[:type]] if place.start_with?("//")
          return [match[:type], place] unless rails_store
          [rails_store, rails_store == "mem_cache_store" ? place.delete_prefix("//") : "#{match[:type]}:#{place}"]
        end
      end

      # A Hash in each process. Its own default of 32 MB would prune in some cells; what is compared is the cost of
      # calls.
      define "memory_store", places: [""] do
        def build(context) = ActiveSupport::Cache::MemoryStore.new(size: context.capacity_bytes, **options)
        def configuration = configuration_line(":memory_store")
      end

      # The cost of Rails' machinery before any store is called.
      define "null_store", keeps?: false, places: [""] do
        def build(_context) = ActiveSupport::Cache::NullStore.new(**options)
        def stored_bytes(*) = 0
      end

      # On a tmpfs (which is memory: nothing waits), on a disk, or in a folder of the user's, such as an NFS mount.
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

      # Over dalli, to a memcached that the lab starts, or to HOST:PORT[,HOST:PORT].
      define "mem_cache_store", gems: %w[dalli] do
        def medium = Contestants.distance(place)
        def servers = foreign? ? [] : %i[memcached]
        def foreign? = !place.empty?

        # memcached refuses larger values; the lab starts its own with room for every value of its own. Dalli checks
        # the size before it sends.
        def build(context)
          addresses = foreign? ? place.split(",") : [context.server(:memcached).fetch("address")]
          ActiveSupport::Cache::MemCacheStore.new(*addresses, value_max_bytes: 8 * 1024 * 1024, **options)
        end

        def configuration = configuration_line(":mem_cache_store", (foreign? ? place : "HOST:11211").inspect)
      end

      # The same without a word about sizes to either side: 64 MB of memory, items of at most 1 MB. What is larger is
      # refused, so its reads miss.
      define "mem_cache_store_as_shipped", like: "mem_cache_store", servers: %i[memcached_as_shipped], places: [""],
                                           medium: :loopback, foreign?: false do
        def build(context)
          ActiveSupport::Cache::MemCacheStore.new(context.server(:memcached_as_shipped).fetch("address"), **options)
        end
      end

      # To a Redis that the lab starts, or to a redis:// URL. A read that failed must be seen, not be a miss.
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
          configuration_line(":redis_cache_store", "url: #{(foreign? ? place : "redis://HOST:6379/0").inspect}")
        end
      end

      # Litecache of the gem litestack, as its authors ship it, or with the pragmas that the others of a comparison have
      # (`litecache:equal`: synchronous NORMAL; WAL and 128 MB of mmap are its own defaults). The gem sets Rails' format
      # for the whole process to 7.0, which is what its users have.
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

      # A known amount of real work (`steps:2000`), which the lab has to find again in what it measures; with a cost
      # that few calls have, or that only the collector has:
      #
      # - `pause_ms`: of every `every`-th read, as work of the CPU, or `asleep=true`
      # - `garbage`: objects that a read allocates; `kept`: objects that the store holds on to
      define "steps", internal?: true do
        def check
          return if place.match?(/\A[1-9]\d*\z/)
          raise UsageError, "#{text}: expected a number of steps, such as steps:2000"
        end

        def build(_context) = CountingStore.new(Integer(place), **options)
      end

      # A Hash that counts down before each read: as little of a store as an operation needs.
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
end

require_relative "stores/raw_socket"
require_relative "stores/solid_cache"
require_relative "stores/tiercel"
