# frozen_string_literal: true

require "securerandom"

class Tiercel::Insight::Doctor
  Text = Tiercel::Insight::Text

  # One check of one store. A subclass implements {#examine} and reports with {#sound}, {#found} and {#unknown}.
  #
  # @abstract
  class Check
    # @param subject [Subject]
    # @param deployment [Deployment]
    def initialize(subject, deployment)
      @subject = subject
      @deployment = deployment
      @findings = []
    end

    # @return [Array<Finding>]
    def findings
      examine
      @findings
    rescue StandardError => error
      unknown("the check could not run: #{Text.redacted(error.message)} (#{error.class})")
      @findings
    end

    private

    attr_reader :subject, :deployment

    def name = self.class.name[/\w+\z/].downcase

    def sound(text) = add(:sound, text)
    def unknown(text) = add(:unknown, text)
    def found(text, fix:) = add(:finding, text, fix)

    # The remedy for an application that may have tiercel-insight alone.
    def tiercel_store(arguments)
      gem = "gem \"tiercel\", and " unless ::Tiercel.respond_to?(:new)
      "#{gem}config.cache_store = :tiercel_store, #{arguments}"
    end

    def add(status, text, fix = nil)
      @findings << Finding.new(status:, check: name, subject: subject.name, text:, fix:)
    end
  end

  # Measures how much memory a MemoryStore occupies for each byte that it counts, while entries of 100 B to 10 KB come
  # and go.
  module MemoryStoreWeight
    # Runs in a separate process, because free memory of this process would hide the store's growth.
    SCRIPT = <<~'RUBY'
      require "active_support"
      require "active_support/cache"
      resident = -> { File.read("/proc/self/statm").split[1].to_i * 4_096 }
      size, written, random = 8 << 20, 0, Random.new(1)
      store = ActiveSupport::Cache::MemoryStore.new(size:)
      GC.start
      before = resident.call
      while written < 5 * size
        bytes = (100 * (100**random.rand)).to_i
        store.write("key/#{random.rand(1_000_000)}", { "id" => 1, "text" => "x" * bytes })
        written += bytes + 300
      end
      GC.start
      print((resident.call - before).fdiv(size))
    RUBY

    # @return [Float, nil] nil without /proc
    def self.measure
      return unless ::File.readable?("/proc/self/statm")
      folders = $LOAD_PATH.flat_map { |folder| ["-I", folder.to_s] }
      command = [{ "RUBYOPT" => nil }, RbConfig.ruby, *folders, "-e", SCRIPT]
      @measured ||= IO.popen(command, err: ::File::NULL) { |child| Float(child.read, exception: false) }
    end
  end

  # The Redis server behind a store of Tiercel or Rails. The doctor runs only read-only commands.
  class RedisServer
    # Maximum number of sampled keys, so that a large server takes no longer than a small one.
    SAMPLE = 500
    REFUSED = /NOPERM|unknown command|not allowed|disabled/i

    # @param subject [Subject]
    # @return [RedisServer, nil] nil if the store uses another server
    def self.of(subject)
      if subject.over?("Redis")
        backend = subject.last
        new(backend.to_s, backend.database) { |*command| backend.ask(*command) }
      elsif subject.kind == :redis_cache_store
        redis = subject.store.redis
        new("redis_cache_store", config(redis).db) { |*command| redis.then { |client| client.call(*command) } }
      end
    end

    # Rails 8.2 uses redis-client instead of the gem redis. Both have pools.
    def self.config(redis)
      redis.then { |client| (client.respond_to?(:_client) ? client._client : client).config }
    end

    # @return [Integer]
    attr_reader :database

    # @yieldparam command [Array<String>]
    # @yieldreturn [Object] the reply
    def initialize(name, database, &ask)
      @name = name
      @database = database
      @ask = ask
    end

    # @return [Hash{String => String}] empty if INFO is refused
    def info = @info ||= ask("INFO").to_s.scan(/^(\w+):(.*?)\r?$/).to_h

    # @return [Array<Array(String, String, Integer)>, nil] key, type and TTL in ms (-1: none); nil if SCAN is
    #   refused
    def sample
      keys, cursor = [], "0"
      until keys.size >= SAMPLE
        cursor, page = ask("SCAN", cursor, "COUNT", "100") || (return)
        keys.concat(page)
        break if cursor == "0"
      end
      keys.first(SAMPLE).map { |key| [key, ask("TYPE", key).to_s, ask("PTTL", key).to_i] }
    end

    # @return [String] the URL without its password
    def to_s = @name

    private

    # @return [Object, nil] nil if the user lacks the permission
    def ask(*command)
      @ask.call(*command)
    rescue StandardError => error
      raise unless REFUSED.match?(error.message)
    end
  end

  # The checks of the doctor.
  module Checks
    # Does the store answer? Writes a value, reads it back, deletes it, and measures the time of calls.
    class Answers < Check
      # A longer round trip means another region or an overloaded server.
      SLOW_SECONDS = 0.010

      private

      # The test must not change the counts. Events are not counted during it. Instead of a read from a segment, it
      # makes a write that the existing entry refuses, because a segment does not count such a write. A segment does
      # count the first write and the delete.
      def examine
        return sound("stores nothing, by configuration") if subject.kind == :null_store
        Tiercel::Insight.uncounted do
          key = "tiercel:doctor:#{SecureRandom.hex(8)}"
          if !(written = subject.store.write(key, key, expires_in: 60))
            found("#{subject}: a write failed: the backend is unreachable, full or read-only",
                  fix: "see the log for the reason; check the address and that the server is running")
          elsif !kept?(key)
            found("#{subject}: a value that was just written cannot be read back",
                  fix: "check the server's memory limit: it may evict new entries immediately")
          else
            judge(Tiercel::Insight.median_seconds { kept?(key) })
          end
        ensure
          subject.store.delete(key) if key
          Tiercel::Insight.collector&.recount(subject.store.backend, 0, 0, -1, -1) if written && subject.tiercel?
        end
      end

      def kept?(key)
        return subject.store.read(key) == key unless subject.tiercel?
        !subject.store.write(key, key, unless_exist: true, expires_in: 60)
      end

      def judge(seconds)
        milliseconds = format("%.3f ms", seconds * 1_000)
        return sound("#{subject} answers; a call takes #{milliseconds}") if seconds < SLOW_SECONDS
        found("#{subject}: a call takes #{milliseconds}",
              fix: "use a nearer server, or put shared: in front: #{tiercel_store('"shared:", "redis://..."')}")
      end
    end

    # Do all processes that need the cache share it? If not, deletes, rate limits and sessions go wrong.
    class Reach < Check
      ONE_PROCESS = "rate limits, sessions and deletes affect one process only"
      SHARING = "docs/platforms.md#one-cache-for-the-containers-of-a-host in `bundle show tiercel`"

      private

      def examine
        case reach
        when :process then of_a_process
        when :container then of_a_machine("in one container")
        when :machine then of_a_machine("on one host")
        end
      end

      # @return [Symbol] the set of processes that share the store
      def reach
        return :process if subject.of_each_process?
        return deployment.container? || deployment.roles.any? ? :container : :machine if subject.over?("Shared")
        :machine if %i[file_store litecache].include?(subject.kind) || subject.over?("SQLite") || subject.over?("File")
      end

      def of_a_process
        workers = deployment.puma_workers
        return unknown("the number of Puma workers is unknown; each has a separate cache") if workers.nil?
        return sound("one Puma process, one cache") if workers < 2
        found("each of the #{workers} Puma workers has a separate cache: #{ONE_PROCESS}",
              fix: tiercel_store('"shared:"'))
      end

      def of_a_machine(where)
        hosts = deployment.hosts.size
        if hosts > 1
          several("#{deployment.hosts_file} lists #{hosts} hosts, and each has a separate cache (#{subject})")
        elsif deployment.later_dyno
          several("this is the dyno #{deployment.later_dyno}, and each dyno has a separate cache (#{subject})")
        elsif deployment.platform && deployment.container?
          unknown("#{deployment.platform} does not reveal the number of containers; #{subject} serves only one " \
                  "of them, unless they share its folder (#{SHARING})")
        elsif where == "in one container" && deployment.roles.size > 1
          found("config/deploy.yml has the roles #{deployment.roles.keys.join(", ")}: each container has a " \
                "separate cache, so a delete by a job does not affect the web processes",
                fix: "let the containers share /dev/shm (#{SHARING}), or use sqlite: on a shared volume")
        else
          sound("all processes #{where} share the cache")
        end
      end

      def several(text)
        found(text, fix: "use one server for all of them: #{tiercel_store('"shared:", "redis://..."')}")
      end
    end

    # Can the cache grow without limit?
    class Bounds < Check
      private

      def examine
        case subject.kind
        when :file_store
          found("#{subject} never deletes unused entries: it grows until the disk is full",
                fix: tiercel_store('"sqlite:storage/cache.sqlite3", { size: "10GB" }'))
        when :solid_cache_store then solid_cache
        when :memory_store then memory_store
        end
      end

      # MemoryStore counts only the lengths of keys and values, so its real memory is measured.
      def memory_store
        used = MemoryStoreWeight.measure or return unknown("the memory that a MemoryStore really uses is unknown here")
        size = subject.store.options[:size] || (32 << 20)
        workers = [deployment.puma_workers.to_i, 1].max
        text = "MemoryStore with size #{Text.bytes(size)}: entries that come and go occupy #{format("%.1f", used)} " \
               "times the memory that it counts, so #{"#{workers} workers use " if workers > 1}up to " \
               "#{Text.bytes(size * used * workers)}"
        return sound(text) if workers < 2 || used < 1.5
        found(text, fix: "a smaller size:, or one cache for all workers: #{tiercel_store('"shared:"')}")
      end

      def solid_cache
        bounds = %i[max_size max_age max_entries].to_h { |name| [name, subject.store.public_send(name)] }.compact
        return sound("Solid Cache is bounded by #{bounds.map { |pair| pair.join(" ") }.join(", ")}") if bounds.any?
        found("Solid Cache has neither max_size nor max_age nor max_entries", fix: "set max_size in config/cache.yml")
      end
    end

    # Is Redis configured as a cache: a memory limit, an eviction policy that can evict, no other users?
    class Redis < Check
      ALONE = "unless this Redis also stores other data, such as Sidekiq's jobs"

      private

      def examine
        server = RedisServer.of(subject) or return
        info = server.info
        return unknown("#{server}: INFO is refused, so memory limit and eviction policy are unknown") if info.empty?
        limit(server, info)
        other_databases(server, info)
        sample(server, info)
        sidekiq(server, info)
      end

      def limit(server, info)
        limit, policy = info["maxmemory"].to_i, info["maxmemory_policy"]
        return unknown("#{server}: INFO does not contain the memory limit") unless info.key?("maxmemory")
        if limit.zero?
          found("#{server} has no memory limit: the cache grows until the machine is out of memory",
                fix: "CONFIG SET maxmemory 1gb (and in redis.conf), with maxmemory-policy allkeys-lru, #{ALONE}")
        elsif policy == "noeviction"
          found("#{server} refuses writes once its #{Text.bytes(limit)} are full (maxmemory-policy noeviction)",
                fix: "CONFIG SET maxmemory-policy allkeys-lru, #{ALONE}")
        else
          sound("#{server} has a limit of #{Text.bytes(limit)} and evicts (#{policy})")
        end
      end

      # Redis must not evict jobs, but must evict cache entries.
      def sidekiq(server, info)
        return unless defined?(::Sidekiq) && ::Sidekiq.respond_to?(:redis)
        jobs = ::Sidekiq.redis { |redis| redis.call("INFO") }.to_s.scan(/^(\w+):(.*?)\r?$/).to_h
        if jobs["run_id"] && jobs["run_id"] == info["run_id"]
          found("#{server} is also Sidekiq's Redis: eviction would drop jobs, and without eviction the cache fills it",
                fix: "use a separate Redis for the cache")
        elsif !["noeviction", nil].include?(jobs["maxmemory_policy"])
          found("Sidekiq's Redis may evict jobs (maxmemory-policy #{jobs["maxmemory_policy"]})",
                fix: "CONFIG SET maxmemory-policy noeviction on Sidekiq's Redis")
        end
      end

      def other_databases(server, info)
        others = info.keys.grep(/\Adb\d+\z/) - ["db#{server.database}"]
        return if others.empty?
        found("#{server}: #{others.join(", ")} have keys too; the memory limit and the eviction policy apply to all",
              fix: "use a separate Redis for the cache: eviction would drop keys of the others")
      end

      def sample(server, info)
        keys = server.sample
        return unknown("#{server}: SCAN is refused, so its keys could not be sampled") if keys.nil?
        foreign = keys.reject { |_key, type, _ttl| type == "string" }
        types = foreign.map { |_key, type, _ttl| type }.tally.map { |type, count| "#{count} of type #{type}" }
        if types.any?
          found("#{server} is not used only for caching: a sample has #{types.join(", ")}",
                fix: "use a separate Redis for the cache: `clear` without a namespace flushes the whole database, " \
                     "and eviction may drop jobs")
        end
        endless = keys.count { |_key, _type, ttl| ttl == -1 }
        volatile = info["maxmemory_policy"].to_s.start_with?("volatile")
        return unless volatile && endless.positive?
        found("#{server}: #{endless} of #{keys.size} sampled keys have no TTL, and maxmemory-policy volatile-* never " \
              "evicts those", fix: "write with expires_in:, or CONFIG SET maxmemory-policy allkeys-lru, #{ALONE}")
      end
    end

    # Does memcached accept the values that the application writes?
    class Memcached < Check
      private

      def examine
        each_server do |server, stats|
          too_large = stats["store_too_large"].to_i
          next sound("#{server} has not refused any value because of its size") if too_large.zero?
          found("#{server} has refused #{too_large} values above its size limit",
                fix: "raise memcached's -I (now #{limit(stats)}), or compress: these values are never cached")
        end
      end

      def limit(stats) = stats["item_size_max"] ? Text.bytes(stats["item_size_max"].to_i) : "1 MB by default"

      def each_server(&)
        if subject.over?("Memcached") then subject.last.server_stats.each(&)
        elsif subject.kind == :mem_cache_store
          subject.store.stats.each { |server, stats| yield "memcached #{server}", stats || {} }
        end
      end
    end

    # Are the shared-memory files in the right place?
    class Segments < Check
      # Docker's default size of /dev/shm.
      CONTAINER_DEFAULT_BYTES = 64 << 20
      LARGER = "start the container with --shm-size 512m (Kamal: options: { shm-size: 512m })"

      private

      def examine
        segments = subject.tiers.filter_map { |tier| tier.segment if tier.respond_to?(:segment) }.select(&:path)
        segments.each do |segment|
          placed(segment)
          sized(segment)
        end
      end

      def placed(segment)
        small = small_room
        # A path in the configuration is the user's choice; a name uses shared memory if there is enough space.
        named = ::File.basename(segment.path).match?(/\Atiercel-.*\.v\d+\z/)
        if named && !segment.path.start_with?("#{deployment.shared_memory}/")
          found("#{segment.path} is not in #{deployment.shared_memory}#{" (#{small})" if small}, so its pages are " \
                "written to a disk", fix: small ? LARGER : "give #{deployment.shared_memory} more space, or set a " \
                                                           "smaller size:")
        elsif small
          found("#{deployment.shared_memory} has #{small}", fix: LARGER)
        else
          sound("#{segment.path} is in the right place")
        end
      end

      # A segment keeps the size with which it was created.
      def sized(segment)
        asked = subject.tiers.filter_map { |tier| tier.asked_bytes if tier.respond_to?(:asked_bytes) }.first or return
        return if (segment.size_bytes - asked).abs <= asked / 50
        found("#{segment.path} has #{Text.bytes(segment.size_bytes)}, although size: is #{Text.bytes(asked)}",
              fix: "bin/rails \"tiercel:segments:resize[#{segment.path},#{asked}]\" (the new segment is empty)")
      end

      # @return [String, nil] the size of a container's shared memory, if it is small
      def small_room
        room = room_of_shared_memory
        return unless deployment.container? && room && room <= CONTAINER_DEFAULT_BYTES
        "#{Text.bytes(room)}#{", Docker's default" if room == CONTAINER_DEFAULT_BYTES}"
      end

      # The mount's size limit, which the kernel lists in kB; nil for a mount without a limit.
      def room_of_shared_memory
        mount = deployment.mounts.lines.map(&:split).reverse.find { |line| line[1] == deployment.shared_memory }
        kilobytes = mount && mount[3].to_s[/(?:\A|,)size=(\d+)k/, 1]
        kilobytes && kilobytes.to_i * 1024
      end
    end

    # Does Marshal load bytes from a network connection without TLS? Anyone who can change those bytes runs code
    # here.
    class Wire < Check
      RAILS = %i[redis_cache_store mem_cache_store].freeze

      private

      def examine
        return of_rails if RAILS.include?(subject.kind)
        return unless subject.tiercel? && subject.last.remote?
        url = subject.store.configuration.url
        return sound("the connection uses TLS") if url.scheme.start_with?("rediss") || subject.store.configuration.tls?
        return sound("the server is on this machine") if local?(url)
        return sound("nothing is loaded with Marshal") unless subject.store.configuration.marshal?
        marshal_in_the_clear(url, "use TLS (rediss://, or ssl: true for memcached), or marshal: false")
      end

      # Rails' own stores can always load Marshal payloads, because every serializer falls back to Marshal.
      def of_rails
        hosts, encrypted = subject.kind == :redis_cache_store ? redis : memcached
        return sound("the connection uses TLS") if encrypted
        return sound("the server is on this machine") if hosts.all? { |host| local_host?(host) }
        marshal_in_the_clear(hosts.join(", "), "use TLS: rediss://, or ssl_context: for memcached")
      end

      # @return [Array(Array<String>, Boolean)] hosts, and whether the connection is encrypted
      def redis
        config = RedisServer.config(subject.store.redis)
        [[config.path ? "" : config.host], config.ssl?]
      end

      def memcached
        names = subject.store.stats.keys
        hosts = names.map { |name| name.start_with?("/") ? "" : name.sub(/:\d+\z/, "") }
        [hosts, !subject.store.options[:ssl_context].nil?]
      end

      def marshal_in_the_clear(place, fix)
        found("#{place}: values are loaded with Marshal over a network without TLS: a host on the path can run " \
              "code in this process", fix:)
      end

      def local?(url)
        return true if url.scheme == "unix" || url.place.start_with?("/")
        url.to_s.delete_prefix("#{url.scheme}:").delete_prefix("//").split("/").first.to_s.split(",").all? do |server|
          local_host?(server[/\A\[([^\]]*)\]|\A([^:]*)/].delete("[]"))
        end
      end

      def local_host?(host) = host.match?(/\A(|localhost|127(\.\d+){3}|::1)\z/)
    end

    # This check says who can read the values. That is a choice, so there is no finding.
    class Values < Check
      private

      def examine
        return if subject.of_each_process? || [nil, :null_store].include?(subject.kind)
        solid = subject.kind == :solid_cache_store
        encrypted = solid ? ::SolidCache.configuration.encrypt? : subject.tiercel? && subject.store.configuration.cipher
        return sound("encrypted") if encrypted
        option = subject.tiercel? ? " (encrypt: true)" : (" (encrypt: true in config/cache.yml)" if solid)
        sound("not encrypted: everybody who can read #{subject} can read them#{option}")
      end
    end
  end
end
