# frozen_string_literal: true

module Tiercel::Lab
  module Contestants
    # Waits until a store with tiers keeps near copies. Over Redis, copies begin some milliseconds after a process'
    # first read, when its listener is connected. The invalidation message of a write also removes the writer's own
    # copy. Until then reads go to the last tier.
    module NearCopies
      # A store takes this long only if its server sends no invalidation messages.
      PATIENCE_SECONDS = 10.0
      PAUSE_SECONDS = 0.002

      class << self
        # Waits until the store trusts its copies.
        #
        # @param store [Tiercel::Store] a store with tiers
        # @return [Boolean]
        def trusted(store)
          store.read("tiercel-lab:nothing") # the first read that misses the near tier starts the listener
          patiently { tiers(store).each_value.none? { |tier| tier&.dig(:bus, :trusted) == false } }
        end

        # Waits for the invalidation messages of the block's writes, which arrive within a millisecond. The messages
        # remove the copies that the writes left.
        #
        # @param store [Tiercel::Store] a store with tiers
        # @param keys [Integer] number of keys that the block writes, each once
        # @return [Object] the block's value
        def after_news(store, keys)
          before = heard(store)
          result = yield
          patiently { heard(store) - before >= keys } if before
          result
        end

        private

        def tiers(store) = store.stats&.fetch(:tiers, nil)

        # @return [Integer, nil] number of keys in received invalidation messages; nil without a listener
        def heard(store) = tiers(store).values.filter_map { |tier| tier&.dig(:bus, :invalidations) }.max

        def patiently
          deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + PATIENCE_SECONDS
          until yield
            return false if Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline
            sleep PAUSE_SECONDS
          end
          true
        end
      end
    end

    # Tiercel: `tiercel` is its default, `tiercel:URL` a single backend, `tiercel:URL URL` a store with tiers, nearest
    # first. " > " between the URLs is allowed too, as in the store's own name. A URL without a path (`shared:`,
    # `sqlite:`, `file:`, `memcached:`, `redis:`) gets a server or folder of the lab.
    class TiercelStore < Contestant
      facts gems: %w[tiercel]

      SERVERS = { "memcached" => :memcached, "redis" => :redis, "redis+cluster" => :redis_cluster }.freeze
      FOLDERS = { "shared" => "tmpfs", "file" => "tmpfs", "sqlite" => "disk" }.freeze
      SIZED = %w[memory shared sqlite file].freeze
      # A longer time budget than Tiercel's 0.25 s: the lab measures the cost of calls, not time-outs, and on a busy
      # machine 0.25 s pass quickly.
      PATIENCE_SECONDS = 2
      PATIENT = [*SERVERS.keys, "sqlite", "file"].freeze
      # Generic places for an application's configuration, in place of the lab's own.
      PUBLIC_FORMS = { "sqlite" => "sqlite:storage/cache.sqlite3", "file" => "file:/dev/shm/cache",
                       "memcached" => "memcached://HOST:11211", "redis" => "redis://HOST:6379/0",
                       "redis+cluster" => "redis+cluster://HOST:6379" }.freeze
      BETWEEN_TIERS = /\s+(?:>\s+)?/

      # Only a process with the gem can check backends and options. Without the gem, the build of the store checks them.
      def check
        require "tiercel"
        # Older revisions, which `compare` measures too, have no autoload.
        require "tiercel/configuration" unless ::Tiercel.const_defined?(:Configuration)
        refuse_glued_tiers
        bare = urls.find { |url| !url.include?(":") }
        raise UsageError, "store #{text.inspect}: expected a backend's URL, such as tiercel:#{bare}:" if bare
        unknown = schemes.find { |scheme| !known_schemes.include?(scheme) }
        raise UsageError, Catalogue.unknown("backend", unknown, known_schemes) if unknown
        ::Tiercel::Configuration.new(urls, options)
        urls.each { |url| Folder.check_place("store #{text.inspect}", scheme(url), url[/:([^?]*)/, 1]) }
      rescue LoadError, ::Tiercel::MissingDependency # its row says what to install
        nil
      rescue ::Tiercel::ConfigurationError => e
        raise UsageError, "store #{text.inspect}: #{e.message}"
      end

      def tiers = urls

      def medium
        return Contestants.distance(urls.last.sub(/\A[^:]*:/, "")) if far?
        return :process if urls.all? { |url| own?(url) && FOLDERS[scheme(url)] != "disk" }
        schemes.any? { |scheme| %w[sqlite file].include?(scheme) } ? :disk : :process
      end

      def keeps? = schemes != ["null"]

      def servers = urls.select { |url| own?(url) }.filter_map { |url| SERVERS[scheme(url)] }

      def foreign? = urls.any? { |url| !own?(url) }

      def build(context)
        ::Tiercel.new(*located(context), error_handler: ->(exception:, **) { raise exception }, **options)
      end

      # Waits for near copies, as in a process that has read for a while.
      def wait_until_ready(subject) = tiers.size > 1 ? NearCopies.trusted(subject) : nil

      def filling(subject, names, &)
        tiers.size > 1 ? NearCopies.after_news(subject, names, &) : yield
      end

      # Clears a near backend that belongs to the arm. A segment's file is in the run's folder.
      def tear_down(subject, names)
        super
        subject.backend.close
      end

      def stored_bytes(subject, name, _value) = subject.backend.get(subject.stored_key(name))&.bytesize

      def configuration
        shown = urls.map { |url| own?(url) ? url.sub(/\A[^?]*/) { |own| PUBLIC_FORMS.fetch(own.chop, own) } : url }
        configuration_line(":tiercel_store", *shown.map(&:inspect))
      end

      private

      def known_schemes = ::Tiercel::Backends::REGISTRY.names.map(&:to_s)

      def urls = place.split(BETWEEN_TIERS).reject(&:empty?)

      # Refuses tiers without a space between them, which would name a single segment.
      def refuse_glued_tiers
        return unless urls.any? { |url| url.match?(/:.*[>|+](?:#{Regexp.union(known_schemes)}):/) }
        raise UsageError, "store #{text.inspect}: tiers are URLs with a space between, nearest first, in quotes " \
                          "for the shell: 'tiercel:shared: redis:'"
      end

      def schemes = urls.map { |url| scheme(url) }

      def scheme(url) = url[/\A[^:]+/]

      def far? = schemes.any? { |scheme| SERVERS.key?(scheme) || %w[rediss unix].include?(scheme) }

      def own?(url) = url.sub(/\?.*/, "").end_with?(":")

      # Gives a segment without a name a file in the run's folder.
      def located(context) = (urls.empty? ? default_urls : urls).map { |url| locate(url, context) }

      def default_urls
        ::Tiercel::Backends::REGISTRY.fetch(:shared)
        ["shared:"]
      rescue StandardError, LoadError
        ["memory:"]
      end

      def locate(url, context)
        return url unless own?(url)
        scheme = scheme(url)
        query = url[/\?(.*)/, 1].to_s.split("&")
        query << "size=#{context.capacity_bytes}" if SIZED.include?(scheme) && open?(:size, query)
        query << "timeout=#{PATIENCE_SECONDS}" if PATIENT.include?(scheme) && open?(:timeout, query)
        query.empty? ? own_place(scheme, context) : "#{own_place(scheme, context)}?#{query.join("&")}"
      end

      # Returns whether the option still has its default: it is neither in the query nor in the user's options.
      def open?(option, query) = query.none? { |text| text.start_with?("#{option}=") } && !options.key?(option)

      def own_place(scheme, context)
        return context.server(SERVERS[scheme]).fetch("url") if SERVERS.key?(scheme)
        return "#{scheme}:" unless FOLDERS.key?(scheme)
        folder = context.directory(FOLDERS[scheme])
        scheme == "file" ? "file:#{folder}" : "#{scheme}:#{File.join(folder, "cache.#{scheme}")}"
      end
    end

    register "tiercel", TiercelStore
  end
end
